-- The order in which workers read the lines: by priority, and in each returned, due, fresh
-- and retry.
local READ_ORDER, PER_PRIORITY = {1, 2, 3, 10, 4, 5, 6, 11, 7, 8, 9, 12}, 4
