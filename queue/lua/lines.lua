-- The numbers of the lines, as in line.go. KEYS[line] is the stream.
local LINES, FRESH_NORMAL = 15, 6

-- letter_of returns the letter of a line's priority.
local function letter_of(line)
  return string.sub('hhhnnnlllhnlhnl', line, line)
end

-- is_fresh reports whether a line is for new jobs, to which any client can add entries.
local function is_fresh(line) return line % 3 == 0 and line <= 9 end

-- is_retry reports whether a line is for jobs that failed.
local function is_retry(line) return line >= 10 and line <= 12 end

-- is_quarantine reports whether a line is for jobs whose worker died.
local function is_quarantine(line) return line >= 13 end
