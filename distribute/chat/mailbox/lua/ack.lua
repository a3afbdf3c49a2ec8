-- Takes messages out of the box.
-- ARGV[1] born, from visit.lua: another box of this name keeps its
--         messages; '' takes them out of any
-- ARGV[2…] ids, at most 100
-- Returns {'ok', id…}: those that were unread until now
-- @include opened_box

local answer = {'ok'}
if ARGV[1] ~= '' and ARGV[1] ~= box.born then return answer end
for i = 2, #ARGV do
  if remove(box, ARGV[i]) then answer[#answer + 1] = ARGV[i] end
end
removed(box)
visit(box)
return answer
