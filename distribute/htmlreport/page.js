// What the reader chooses, and how the page shows it.
byId('theme').addEventListener('click', () => {
  const root = document.documentElement
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
})
byId('print').addEventListener('click', () => print())
byId('acts').hidden = false

const data = await read(byId('data').textContent)
const choice = {from: data.from, to: data.to, who: '', class: '', compare: true}
const lastDay = data.days - 1
const first = Date.parse(data.first)
const date = i => new Date(first + i * dayLength)
const isoDay = i => date(i).toISOString().slice(0, 10)
const dayName = i => date(i).getUTCDate() + ' ' + shortMonths[date(i).getUTCMonth()]
const days = () => choice.to - choice.from + 1
const canCompare = () => choice.from - days() >= 0
const compares = () => choice.compare && canCompare()
const now = () => [choice.from, choice.to]
const before = () => compares() ? [choice.from - days(), choice.from - 1] : null
const wholeWeeks = ([from, to]) => data.weeks.includes(from) && (to === lastDay || data.weeks.includes(to + 1))

// best returns the cube of a list with most of some dimensions.
const best = (list, ...dims) => {
  const found = n => data.cubes.find(c => c.list === list && dims.filter(d => c.dims.includes(d)).length === n)
  for (let n = dims.length; n >= 0; n--) if (found(n)) return found(n)
}
// view returns a cube with the part of some choices that it has, and the names of the others.
const view = (list, wanted) => {
  const dims = Object.keys(wanted).filter(d => wanted[d])
  const cube = best(list, ...dims)
  return {cube, lacks: dims.filter(d => !cube.dims.includes(d)), only: Object.fromEntries(dims.filter(d => cube.dims.includes(d)).map(d => [d, wanted[d]]))}
}
const rowsOf = ({cube, only}, more = {}) => cube.rows.filter(row => cube.dims.every((dim, i) => {
  const wanted = more[dim] ?? only[dim]
  return wanted === undefined || data.values[dim][row.values[i]] === wanted
}))
const sum = (row, period) => period ? row.days.subarray(period[0], period[1] + 1).reduce((a, b) => a + b, 0) : 0
const total = (rows, period) => rows.reduce((n, row) => n + sum(row, period), 0)
const lineOf = (rows, [from, to]) => Array.from({length: to - from + 1}, (_, i) => rows.reduce((n, row) => n + row.days[from + i], 0))
const sumsOf = (shown, period, more) => {
  const sums = new Float64Array(data.values[shown.cube.list].length)
  for (const row of rowsOf(shown, more)) sums[row.values[0]] += sum(row, period)
  return sums
}

const clients = {p: 'people', c: 'crawlers'}
const nameOf = (only, otherwise = 'everyone') => (clients[only.who] ?? otherwise) + (only.class ? ', ' + only.class : '')
const lackNames = {who: 'people and crawlers', class: 'status'}
const lackDims = {who: 'crawler', class: 'status'}
const wanted = () => ({who: choice.who, class: choice.class})

const showRange = () => {
  const [a, b] = now()
  const year = i => ' ' + date(i).getUTCFullYear()
  let text = dayName(b) + year(b)
  if (days() > 1) text = dayName(a) + (year(a) === year(b) ? '' : year(a)) + ' to ' + text + ', ' + days() + ' days'
  if (compares()) text += ', compared with the ' + (days() > 1 ? days() + ' days' : 'day') + ' before'
  byId('range').textContent = text + '.'
  document.querySelector('main').classList.toggle('cmp', compares())
}

const setFigure = (key, value, note) => {
  const figure = document.querySelector('[data-f=' + key + ']')
  if (!figure) return
  figure.textContent = value
  figure.nextElementSibling.textContent = note
}
const compared = (text, n, old) => compares() && percent(n, old) ? percent(n, old) + ', ' + text : text
const showFigures = () => {
  const shown = view('', wanted())
  const requests = total(rowsOf(shown), now())
  setFigure('all', short(requests), compared(short(Math.floor(requests / days())) + ' a day', requests, total(rowsOf(shown), before())))
  const part = (key, dim, value, others) => {
    const cube = [...Object.keys(others).filter(d => others[d]), dim].map(d => best('', dim, d)).find(cube => cube.dims.includes(dim))
    if (!cube) return
    const only = Object.fromEntries(Object.entries(others).filter(([d, v]) => v && cube.dims.includes(d)))
    const lacks = Object.keys(others).filter(d => others[d] && !only[d])
    const rows = rowsOf({cube, only}, {[dim]: value})
    const n = total(rows, now())
    const of = lacks.length ? ' of all, ' + (lacks[0] === 'who' ? 'everyone' : 'any status') : ' of all'
    setFigure(key, short(n), compared(share(n, total(rowsOf({cube, only}), now())) + of, n, total(rows, before())))
  }
  part('people', 'who', 'p', {class: choice.class})
  part('crawlers', 'who', 'c', {class: choice.class})
  part('errors', 'class', '5xx', {who: choice.who})
  if (best('country')) {
    const {items} = numbers('country')
    const code = item => data.values.country[item.i]
    setFigure('countries', comma(items.filter(item => item.n > 0 && code(item).length === 2 && code(item) !== 'ZZ').length), 'with requests')
    const unknown = items.find(item => code(item) === 'ZZ') ?? {n: 0, before: 0, mark: ''}
    setFigure('unknown', unknown.mark + short(unknown.n), compared(share(unknown.n, items.reduce((n, item) => n + item.n, 0)) + ' of all', unknown.n, unknown.before))
  }
  const line = lineOf(rowsOf(shown), now())
  const most = Math.max(...line)
  setFigure('busiest', dayName(choice.from + line.indexOf(most)), counted(most, short(most)))
}

const top = (...lines) => {
  const most = Math.max(0, ...lines.flat())
  if (most <= 0) return 1
  const scale = 10 ** Math.floor(Math.log10(most))
  return Math.max(1, ([1, 1.5, 2, 2.5, 5, 8].find(step => most <= step * scale) ?? 10) * scale)
}
const path = (line, most) => {
  if (line.length === 1) line = [line[0], line[0]]
  return line.map((n, i) => (i ? 'L' : 'M') + coordinate(1000 * i / (line.length - 1)) + ' ' + coordinate(100 * (1 - n / most))).join('')
}
const showPlot = () => {
  const shown = view('', wanted())
  const line = lineOf(rowsOf(shown), now())
  const crawlers = shown.cube.dims.includes('who') && !choice.who ? lineOf(rowsOf(shown, {who: 'c'}), now()) : []
  const old = compares() ? lineOf(rowsOf(shown), before()) : []
  const most = top(line, crawlers, old)
  const plot = byId('plot')
  const set = (name, d) => plot.querySelector('path.' + name).setAttribute('d', d)
  const drawn = path(line, most)
  set('l', drawn)
  set('a', 'M0 100L' + drawn.slice(1) + 'L1000 100z')
  set('o', path(crawlers, most))
  set('p', path(old, most))
  if (byId('crawlers-legend')) byId('crawlers-legend').hidden = !crawlers.length
  all('.y span', plot).forEach((label, i) => { label.textContent = [axis(most), axis(most / 2), '0'][i] })
  all('.x span', plot).forEach((label, i) => {
    const place = k => Math.floor(k * (days() - 1) / 3)
    label.hidden = i > 0 && place(i) <= place(i - 1)
    label.textContent = label.hidden ? '' : dayName(choice.from + place(i))
  })
  plot.querySelector('svg').setAttribute('aria-label', 'Requests per day: least ' + comma(Math.min(...line)) + ', most ' + comma(Math.max(...line)) + '. The tables below have the same numbers.')
  byId('plot-of').textContent = nameOf(shown.only)
  showMonths(shown)
}
const showMonths = shown => {
  const everything = [0, lastDay]
  const line = lineOf(rowsOf(shown), everything)
  const hasWho = shown.cube.dims.includes('who')
  const parts = ['p', 'c'].map(value => hasWho ? lineOf(rowsOf(shown, {who: value}), everything) : null)
  let i = 0
  for (const month of all('#months details')) {
    let n = 0
    let some = false
    for (const row of all('tbody tr', month)) {
      row.hidden = i < choice.from || i > choice.to
      if (!row.hidden) {
        some = true
        n += line[i]
        const cells = [comma(line[i]), ...byId('crawlers-legend') ? parts.map(part => part ? comma(part[i]) : '') : [], compares() ? comma(line[i - days()]) : '']
        cells.forEach((text, c) => { row.cells[c + 1].textContent = text })
      }
      i++
    }
    month.hidden = !some
    month.querySelector('summary span').textContent = counted(n, comma(n))
  }
}

const note = (panel, shown, empty) => {
  const line = panel.querySelector('.note')
  const texts = shown.lacks.map(lack => 'These are not counted by ' + lackNames[lack] + ': the numbers are of ' + (lack === 'who' ? 'everyone' : 'any status') + '. To choose here, count with --by ' + shown.cube.by + ',' + lackDims[lack] + '.')
  if (!texts.length && empty) texts.push('There are no such requests in these days.')
  line.textContent = texts.join(' ')
  line.hidden = !texts.length
  all('[data-of]', panel).forEach(of => { of.textContent = 'requests, ' + nameOf(shown.only, of.dataset.of) })
}

// numbers returns what is shown of each value of a list.
const numbers = list => {
  const shown = view(list, wanted())
  const hasWho = shown.cube.dims.includes('who')
  const [n, old, people, crawlers] = [sumsOf(shown, now()), sumsOf(shown, before()), hasWho ? sumsOf(shown, now(), {who: 'p'}) : null, hasWho ? sumsOf(shown, now(), {who: 'c'}) : null]
  const everyone = hasWho ? sumsOf({cube: shown.cube, only: {...shown.only, who: undefined}}, now()) : null
  const weekly = new Set(shown.cube.rows.filter(row => row.weekly).map(row => row.values[0]))
  const least = new Set(shown.cube.least)
  const partNow = !wholeWeeks(now())
  const part = partNow || before() && !wholeWeeks(before())
  const items = Array.from(n, (count, i) => ({
    i, n: count, before: old[i], people: people?.[i], crawlers: crawlers?.[i], everyone: everyone?.[i], line: () => lineOf(rowsOf(shown).filter(row => row.values[0] === i), now()),
    mark: weekly.has(i) && partNow ? '≈ ' : '', changeMark: weekly.has(i) && part ? '≈ ' : '', least: least.has(i) ? '≥ ' : ''
  }))
  items.sort((a, b) => b.n - a.n || a.i - b.i)
  return {shown, items}
}

const lists = all('.list').map(panel => {
  const rows = []
  for (const row of all('tbody tr', panel)) rows[row.dataset.i] = row
  return {panel, dim: panel.dataset.panel, rows, key: 'n', down: true}
})
const names = list => list.rows.map(row => row.cells[1].firstChild.nodeValue.trim())
const sparkLine = line => {
  const step = Math.ceil(line.length / 60)
  const points = []
  for (let i = 0; i < line.length; i += step) {
    const part = line.slice(i, i + step)
    points.push(part.reduce((a, b) => a + b, 0) / part.length)
  }
  const low = Math.min(...points)
  const range = Math.max(1, Math.max(...points) - low)
  return points.map((n, i) => [coordinate(100 * i / (points.length - 1)), coordinate(19 - 16.2 * (n - low) / range)])
}
const drawSpark = (cell, sample, line) => {
  if (!cell.querySelector('svg')) cell.append(sample.cloneNode(true))
  const points = line.length > 1 ? sparkLine(line) : []
  cell.querySelector('path').setAttribute('d', points.map(([x, y], i) => (i ? 'L' : 'M') + x + ' ' + y).join(''))
  const [x, y] = points.at(-1) ?? [-9, -9]
  cell.querySelector('circle').setAttribute('cx', x)
  cell.querySelector('circle').setAttribute('cy', y)
}
const drawBar = (cell, sample, width) => {
  if (!cell.querySelector('svg')) cell.append(sample.cloneNode(true))
  cell.querySelector('.f').setAttribute('d', 'M0 0H' + coordinate(width) + 'V8H0z')
}
const sortKeys = {
  n: item => item.n, people: item => item.people, crawlers: item => item.crawlers,
  part: item => item.everyone ? item.crawlers / item.everyone : -1,
  change: item => item.before ? (item.n - item.before) / item.before : item.n ? Infinity : -Infinity
}
const showList = list => {
  const {shown, items} = numbers(list.dim)
  const whole = items.reduce((n, item) => n + item.n, 0)
  const most = items[0].n
  const body = list.panel.querySelector('tbody')
  const spark = body.querySelector('.spark')
  const bar = body.querySelector('.bar')
  const hasPeople = !!list.panel.querySelector('[data-sort=people]')
  let count = 0
  items.forEach((item, place) => {
    const row = list.rows[item.i]
    const cells = row.cells
    row.hidden = !item.n && !item.before
    if (item.n) count++
    cells[2].textContent = item.least + item.mark + comma(item.n)
    cells[3].textContent = share(item.n, whole)
    if (bar && item.n) drawBar(cells[4], bar, 100 * item.n / most)
    else cells[4].textContent = ''
    cells[5].textContent = compares() && percent(item.n, item.before) ? item.changeMark + percent(item.n, item.before) : ''
    cells[5].className = compares() ? direction(item.n, item.before) : ''
    if (hasPeople) {
      cells[6].textContent = item.people === undefined ? '' : item.mark + comma(item.people)
      cells[7].textContent = item.people === undefined ? '' : item.mark + comma(item.crawlers)
      cells[8].textContent = item.everyone ? Math.floor((200 * item.crawlers + item.everyone) / (2 * item.everyone)) : ''
    }
    if (spark && !row.hidden) drawSpark(cells[cells.length - 1], spark, item.line())
  })
  if (list.key === 'name') {
    const text = names(list)
    items.sort((a, b) => text[a.i].localeCompare(text[b.i], 'en'))
    if (list.down) items.reverse()
  } else {
    const key = sortKeys[list.key]
    items.sort((a, b) => (list.down ? key(b) - key(a) : key(a) - key(b)) || b.n - a.n || a.i - b.i)
  }
  body.append(...items.map(item => list.rows[item.i]))
  all('[data-sort]', list.panel).forEach(head => {
    if (head.dataset.sort === list.key) head.setAttribute('aria-sort', list.down ? 'descending' : 'ascending')
    else head.removeAttribute('aria-sort')
  })
  note(list.panel, shown, !count)
  const more = list.panel.querySelector('header label')
  if (more) {
    more.hidden = count <= 25
    more.querySelector('span').textContent = count
  }
}

const units10 = [[1e12, ' tn'], [1e9, ' bn'], [1e6, ' M'], [1e3, ' k'], [1, '']]
const power = n => {
  const [size, name] = units10.find(([size]) => n >= size)
  return n / size + name
}
const powers = (low, high) => {
  const [a, aUnit = ''] = power(low).split(' ')
  const [b, bUnit = ''] = power(high).split(' ')
  return ((aUnit === bUnit ? a : '0.' + '0'.repeat(3 - a.length) + '1') + '–' + b + ' ' + bUnit).trim()
}
const showMap = () => {
  const {shown, items} = numbers('country')
  const places = all('.map [data-k]')
  const byCode = new Map(items.map(item => [data.values.country[item.i], item]))
  const most = Math.max(0, ...places.map(place => byCode.get(place.dataset.k)?.n ?? 0))
  let lowest = 10
  while (lowest * 10 <= most / 1e4) lowest *= 10
  for (const place of places) {
    const item = byCode.get(place.dataset.k)
    const n = item?.n ?? 0
    let level = n > 0 ? 1 : 0
    for (let bound = lowest; level && level < 7 && n >= bound; bound *= 10) level++
    place.setAttribute('class', 'c' + level)
    const title = place.querySelector('title')
    title.textContent = title.textContent.replace(/: [^:]*$/, '') + ': ' + (n > 0 ? item.mark + counted(n, comma(n)) : 'none')
  }
  all('.scale span').forEach((label, i) => {
    const bound = lowest * 10 ** (i - 2)
    label.textContent = ['none', '< ' + power(lowest)][i] ?? (i < 7 ? powers(bound, bound * 10) : '≥ ' + power(bound))
  })
  note(document.querySelector('[data-panel=country]'), shown, false)
  showChanged(items)
}
const showChanged = items => {
  const list = lists.find(list => list.dim === 'country')
  const text = names(list)
  const sorted = compares() ? items.filter(item => item.n !== item.before) : []
  sorted.sort((a, b) => b.n - b.before - (a.n - a.before))
  const chosen = sorted.filter((item, i) => item.n > item.before ? i < 7 : i >= sorted.length - 4)
  const panel = byId('changed')
  panel.hidden = !chosen.length
  panel.parentElement.classList.toggle('side', chosen.length > 0)
  all('tbody tr', panel).forEach((row, i) => {
    const item = chosen[i]
    row.hidden = !item
    if (!item) return
    const difference = item.n - item.before
    row.cells[0].textContent = text[item.i]
    row.cells[1].textContent = item.changeMark + (difference > 0 ? '+' : '') + short(difference)
    row.cells[2].textContent = percent(item.n, item.before)
    row.cells[2].className = 'n ' + direction(item.n, item.before)
  })
}

// Choices that no cut combines are disabled, with the --by that would combine them.
const showControls = () => {
  const has = (...dims) => data.cubes.some(cube => cube.list === '' && dims.every(dim => cube.dims.includes(dim)))
  let why = ''
  for (const [dim, other] of [['who', 'class'], ['class', 'who']]) {
    for (const box of all('[name=' + dim + ']')) {
      box.checked = box.value === choice[dim]
      box.disabled = !!box.value && !!choice[other] && !has(dim, other)
      box.parentElement.title = ''
      if (!box.disabled) continue
      why = 'People and crawlers can’t be combined with a status: count with --by ' + best('', 'class').by + ',crawler.'
      box.parentElement.title = why
    }
  }
  byId('why').textContent = why
  const compare = byId('cmp')
  compare.disabled = !canCompare()
  compare.checked = compares()
  compare.parentElement.title = compare.disabled ? 'The page has not as many days before these.' : ''
  if (!byId('from')) return
  byId('from').value = isoDay(choice.from)
  byId('to').value = isoDay(choice.to)
  all('[name=days]').forEach(box => {
    const n = +box.value || data.days
    box.checked = choice.to === lastDay && days() === n
  })
}

const show = () => {
  showControls()
  showRange()
  showFigures()
  showPlot()
  lists.forEach(showList)
  if (document.querySelector('.map')) showMap()
}

const setDay = (name, value) => {
  const place = Math.round((Date.parse(value) - first) / dayLength)
  if (place >= 0 && place <= lastDay) { // otherwise the field gets its last day again
    choice[name] = place
    if (choice.from > choice.to) choice.from = choice.to = place
  }
}
byId('controls').addEventListener('change', ({target}) => {
  if (target.name === 'days') {
    choice.to = lastDay
    choice.from = Math.max(0, data.days - (+target.value || data.days))
  } else if (target.id === 'cmp') choice.compare = target.checked
  else if (target.name) choice[target.name] = target.value
  else setDay(target.id, target.value)
  show()
})
byId('controls').addEventListener('submit', event => event.preventDefault())
for (const list of lists) {
  for (const head of all('[data-sort]', list.panel)) {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener('click', () => {
      const key = head.dataset.sort
      list.down = list.key === key ? !list.down : key !== 'name'
      list.key = key
      showList(list)
    })
  }
}
for (const id of ['from', 'to']) {
  if (!byId(id)) continue
  byId(id).min = isoDay(0)
  byId(id).max = isoDay(lastDay)
}
showControls()
byId('controls').hidden = !document.querySelector('#controls > label:not([hidden]), #controls fieldset')
