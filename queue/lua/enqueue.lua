-- Adds jobs, all or none.
-- ARGV: groups as in enqueue_groups.lua
-- Returns 'ok' and an id for each job, in order; for a duplicate '=' and the id
-- of the job that holds its unique key.
-- @include queue delay enqueue_groups
return add_groups({'ok'}, 1)
