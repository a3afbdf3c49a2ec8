-- Removes messages from the box.
-- ARGV[1] born, from visit.lua: messages of a later box of this name are not
--         removed; '' for any box
-- ARGV[2…] ids, at most 100
-- Returns {'ok', id…}: the ids of messages that were unread before this call
-- @include opened_box

local answer = {'ok'}
if ARGV[1] ~= '' and ARGV[1] ~= box.born then return answer end
for i = 2, #ARGV do
  if remove(box, ARGV[i]) then answer[#answer + 1] = ARGV[i] end
end
record_removal(box)
visit(box)
return answer
