-- The order in which workers read the lines: by priority, and in each quarantine, returned,
-- due, fresh and retry.
local READ_ORDER, PER_PRIORITY = {13, 1, 2, 3, 10, 14, 4, 5, 6, 11, 15, 7, 8, 9, 12}, 5
