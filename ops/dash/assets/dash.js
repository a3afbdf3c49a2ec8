// The script of the dashboard. Every page works without it. It sets texts and attributes of elements
// that are there, and never inserts HTML.
'use strict'
const body = document.body
const byId = id => document.getElementById(id)
const all = selector => [...document.querySelectorAll(selector)]

// The zone of the browser, at the first visit.
if (!/(^|; )skidway-view=/.test(document.cookie)) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
  document.cookie = 'skidway-view=zone=' + encodeURIComponent(zone) + '; path=' + body.dataset.base + '/; max-age=31536000; samesite=lax'
  if (zone !== 'UTC' && document.cookie.includes('skidway-view=')) location.reload()
}

// Strips that scroll sideways show the current page.
document.querySelector('.rail [aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'})

// Rows that are ticked.
const pick = byId('pick')
const boxes = all('#pick tbody [type=checkbox]')
let lastBox = -1
const showPicked = () => {
  if (!pick) return
  const n = boxes.filter(box => box.checked).length
  const picked = byId('picked')
  picked.textContent = picked.dataset.text.replace('%s', n.toLocaleString('en'))
  boxes.forEach(box => box.closest('tr').classList.toggle('sel', box.checked))
  byId('pick-all').checked = n > 0 && n === boxes.length
}
pick?.addEventListener('change', event => {
  if (event.target.id === 'pick-all') boxes.forEach(box => { box.checked = event.target.checked })
  showPicked()
})
pick?.addEventListener('reset', () => setTimeout(showPicked))
showPicked()

// Live values: elements by their attribute and its value.
const elements = new Map()
for (const name of ['v', 'badge', 'shape', 'k', 'label', 'path', 'spark', 'time', 'width']) {
  for (const element of all('[data-' + name + ']')) {
    const key = name + ' ' + element.dataset[name]
    elements.set(key, (elements.get(key) || []).concat(element))
  }
}
const find = (name, key) => elements.get(name + ' ' + key) || []
const hold = byId('hold')
const news = byId('news')
let held = false
let source = null
let waiting = {} // values for tables that may not change now
let first = true
let whole = false // the next change has all values and tables
const tables = {} // the ids of the rows that a table had last

// Nothing changes in a table with the pointer, the focus or a ticked box, nor in any while a question is open.
let hovers = true // a finger does not: what it tapped last matches :hover
addEventListener('pointerover', event => { hovers = event.pointerType !== 'touch' })
const frozen = () => {
  const tables = all(document.querySelector('[popover]:popover-open') ? '.wide' : '.wide:focus-within, .wide:has(tbody :checked)' + (hovers ? ', .wide:hover' : ''))
  return element => tables.some(table => table.contains(element))
}

const setValue = (element, text) => {
  if (element.textContent === text) return
  if (element.hidden) return say(news.dataset.changed) // of what is not live: a load shows it
  element.textContent = text
  element.classList.toggle('dim', text === '0' || text === '–')
  if (first || element.closest('dd + dd, .need')) return // ages would always flash
  element.classList.remove('chg')
  void element.offsetWidth
  element.classList.add('chg')
}

// Badges and bars: shape, colour and width of elements that are there.
const setBadge = (element, value) => {
  const [colour, shape, href, text] = value.split('\n')
  element.className = 'b ' + colour
  setShape(element.querySelector('svg'), shape, href)
  element.querySelector('span').textContent = text
}
const setShape = (element, colour, href) => {
  element.setAttribute('class', 'i ' + colour)
  const shown = element.querySelector('use')
  if (shown.getAttribute('href') !== href) shown.setAttribute('href', href) // else it would be drawn anew, and flicker
}
const setIcon = (element, value) => {
  const [colour, href, label] = value.split('\n')
  setShape(element, colour, href)
  if (label) element.setAttribute('aria-label', label)
}
// A time, or an age that counts on.
const setTime = (element, value) => {
  const [at, title, age, text] = value.split('\n')
  Object.assign(element, {dateTime: at, title})
  element.dataset.age = age
  element.ahead = Date.parse(at) > redisNow()
  if (text || !age) setValue(element, text)
}
// A place of a map: its colour and its title.
const setPlace = (element, value) => {
  const [colour, title] = value.split('\n')
  element.setAttribute('class', colour)
  element.querySelector('title').textContent = title
}
// A small line: its points, its last one, and its label.
const setSpark = (element, value) => {
  const [d, x, y, label] = value.split('\n')
  const [line, dot] = element.children
  line.setAttribute('d', d)
  dot.setAttribute('cx', x)
  dot.setAttribute('cy', y)
  element.setAttribute('aria-label', label)
}
const attribute = name => (element, value) => element.setAttribute(name, value)
const setters = {
  badge: setBadge, shape: setIcon, k: setPlace, label: attribute('aria-label'), path: attribute('d'), spark: setSpark, time: setTime, width: attribute('width'),
}

const say = text => {
  byId('news-text').textContent = text
  news.hidden = false
}

const show = change => {
  const isFrozen = frozen(), values = {...waiting, ...change.values}
  waiting = {}
  for (const [key, text] of Object.entries(values)) {
    const [name, rest] = key.split(/ (.*)/)
    const set = (elements, setter) => elements.forEach(element => {
      if (isFrozen(element)) waiting[key] = text
      else setter(element, text)
    })
    set(find('v', key), setValue)
    if (setters[name]) set(find(name, rest), setters[name])
    if (name === 'class') set(find('v', rest), element => element.classList.toggle('bad', text === 'bad'))
    if (key.startsWith('mark.')) find('v', key).forEach(element => { element.closest('b').hidden = !text })
    if (key === 'away') byId('away').hidden = !text
    if (key === 'problems') {
      document.title = (text === '0' ? '' : '(' + text + ') ') + document.querySelector('title').dataset.name
    }
  }
  for (const [table, ids] of Object.entries(change.rows || {})) {
    const there = all('[data-row]').map(row => row.dataset.row)
    const fresh = ids.filter(id => !there.includes(id))
    const gone = (tables[table] || []).some(id => !ids.includes(id))
    const line = news.dataset
    tables[table] = ids
    if (fresh.length) {
      say(line.new.replace('%s', fresh.length))
      if (table === 'troubles' && !first) byId('say').textContent = fresh.join(', ')
    } else if (gone) {
      say(line.changed)
    } else if (ids.join('\n') !== there.filter(id => ids.includes(id)).join('\n')) {
      say(line.order)
    }
  }
  first = false
}

// A stream that sends is not lost.
const connected = () => {
  if (body.classList.contains('lost')) news.hidden = true
  body.classList.remove('lost')
}

const disconnected = () => {
  say(news.dataset.lost.replace('%s', find('v', 'as_of')[0].textContent))
  body.classList.add('lost')
}

const take = change => {
  connected()
  if (held) return // all values come again
  if (whole) change.rows = {...Object.fromEntries(Object.keys(tables).map(table => [table, []])), ...change.rows}
  whole = false
  show(change)
}

const close = () => {
  source?.close()
  source = null
}

const againAfter = 10000 // milliseconds until a stream that was refused is opened again

const open = () => {
  if (source || held || document.hidden || !body.dataset.live) return
  whole = true
  source = new EventSource(body.dataset.live + '?page=' + encodeURIComponent(location.pathname.slice(body.dataset.base.length) + location.search))
  source.addEventListener('change', event => take(JSON.parse(event.data)))
  source.addEventListener('alive', connected)
  source.addEventListener('over', event => {
    close()
    const why = JSON.parse(event.data).why
    const text = news.dataset[why]
    if (text) { setHeld(true); say(text) }
    if (why === 'refused') location.reload()
    if (why === 'check') open() // the handlers before the dashboard see the new request
    if (why === 'end') { disconnected(); setTimeout(open, againAfter) } // the server ends, and may start again
  })
  source.addEventListener('error', () => {
    disconnected()
    if (source?.readyState === EventSource.CLOSED) { // refused: the browser tries no more
      close()
      stay().then(a => { if (a?.status === 401) location.reload() }) // the session has ended
      setTimeout(open, againAfter)
    }
  })
}

const setHeld = now => {
  held = now
  hold.setAttribute('aria-pressed', held)
  hold.title = held ? hold.dataset.held : hold.dataset.live
  hold.querySelector('svg').setAttribute('class', held ? 'i warn' : 'i ok')
  held ? close() : open()
}

// The session lasts while the page is open.
const stay = () => fetch(body.dataset.base + '/settings', {method: 'HEAD'}).catch(() => {})
if (body.dataset.now) setInterval(() => { if (!source) stay() }, 600000)

if (hold) {
  hold.dataset.live = hold.title
  hold.disabled = false
  hold.addEventListener('click', () => setHeld(!held))
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open())
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  open()
}

// Ages count on, by the clock of Redis.
const two = n => String(n).padStart(2, '0')
const units = (large, unit, small, smallUnit) => large + unit + (small ? ' ' + two(small) + smallUnit : '')
const ageText = seconds => {
  const s = Math.floor(seconds), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24)
  if (s < 60) return s + 's'
  if (m < 20) return units(m, 'm', s % 60, 's')
  if (h < 1) return m + 'm'
  if (d < 1) return units(h, 'h', m % 60, 'm')
  return d < 10 ? units(d, 'd', h % 24, 'h') : d + 'd'
}
const opened = Date.now()
const redisNow = () => Number(body.dataset.now) + Date.now() - opened
const ages = all('[data-age], [data-time]')
ages.forEach(element => { element.ahead = element.dateTime && Date.parse(element.dateTime) > redisNow() })
const countOn = () => {
  if (held || document.hidden) return
  if (Object.keys(waiting).length) show({})
  const isFrozen = frozen()
  for (const element of ages) {
    if (!element.dataset.age || isFrozen(element)) continue
    const age = (redisNow() - Date.parse(element.dateTime)) / 1000
    const text = element.dataset.age.replace('%s', ageText(Math.max(0, element.ahead ? -age : age)))
    if (element.textContent !== text) element.textContent = text
  }
}
if (hold || ages.length) setInterval(countOn, 1000)

// Keys.
let prefix = ''
const rows = () => all('tbody tr')
let row = -1
const move = step => {
  const list = rows()
  if (!list.length) return
  row = Math.max(0, Math.min(list.length - 1, row + step))
  const target = list[row].querySelector('a') || list[row]
  if (target === list[row]) target.tabIndex = -1
  target.focus()
  list[row].scrollIntoView({block: 'nearest'})
}
const tick = range => {
  const box = rows()[row]?.querySelector('[type=checkbox]')
  if (!box) return
  box.checked = !box.checked
  const at = boxes.indexOf(box)
  if (range && lastBox >= 0) {
    for (let i = Math.min(at, lastBox); i <= Math.max(at, lastBox); i++) boxes[i].checked = box.checked
  }
  lastBox = at
  showPicked()
}
const keys = {
  '/': () => document.querySelector('.find input').focus(),
  '?': () => byId('keys-help').togglePopover(),
  j: () => move(1),
  k: () => move(-1),
  x: () => tick(false),
  X: () => tick(true),
  r: () => document.querySelector('#bulk [value=retry], [popovertarget=retry]:not([disabled])')?.click(),
  p: () => hold && setHeld(!held),
}
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === 'Escape' && pick && !document.querySelector('[popover]:popover-open')) {
    pick.reset()
    showPicked()
  }
  if (body.dataset.keys !== 'true' || event.target.closest('input:not([type=checkbox]), textarea, select')) return
  if (prefix === 'g') {
    prefix = ''
    const link = document.querySelector('.rail [data-key="' + CSS.escape(event.key) + '"]')
    if (link) { event.preventDefault(); link.click() }
    return
  }
  if (event.key === 'g') { prefix = 'g'; return }
  if (keys[event.key]) { event.preventDefault(); keys[event.key]() }
})
