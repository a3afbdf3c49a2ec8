// The first part of the script of a page: numbers as package htmlreport writes them, and the counts. The script
// adds up the counts in the page for the days and the choices of the reader. It sets texts and attributes, and
// sends no request.
const byId = id => document.getElementById(id)
const all = (selector, from = document) => [...from.querySelectorAll(selector)]
const shortMonths = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const dayLength = 864e5

const format = new Intl.NumberFormat('en-US')
const comma = n => format.format(n)
const fixed = (x, digits) => (Math.floor(x * 10 ** digits + 0.5) / 10 ** digits).toFixed(digits)
const units = [[1e12, 1e12, 'tn'], [1e9, 1e9, 'bn'], [1e6, 1e6, 'M'], [1e4, 1e3, 'k']]
const short = n => {
  const sign = n < 0 ? '−' : ''
  n = Math.abs(n)
  const unit = units.find(([least]) => n >= least)
  if (!unit) return sign + comma(n)
  const x = n / unit[1]
  return sign + fixed(x, Math.max(0, 2 - Math.floor(Math.log10(x)))) + ' ' + unit[2]
}
const counted = (n, number) => number + (n === 1 ? ' request' : ' requests')
const axis = n => {
  const [number, unit = ''] = short(Math.floor(n)).split(' ')
  return ((number.includes('.') ? number.replace(/\.?0+$/, '') : number) + ' ' + unit).trim()
}
const percent = (n, before) => {
  if (!before) return n ? 'new' : ''
  const change = 100 * (n - before) / before
  const size = Math.abs(change)
  return (change < 0 ? '−' : '+') + (size < 9.95 ? fixed(size, 1) : comma(Math.floor(size + 0.5))) + ' %'
}
const share = (part, whole) => {
  if (!whole) return ''
  return part > 0 && 1000 * part < whole ? '< 0.1 %' : (Math.floor(1000 * part / whole + 0.5) / 10).toFixed(1) + ' %'
}
const direction = (n, before) => n > before ? 'up' : n < before ? 'dn' : ''
const coordinate = x => x.toFixed(1).replace(/\.0$/, '')

// read unpacks the counts, see function encode of package htmlreport.
const read = async packed => {
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const content = new Uint8Array(await new Response(unpacked).arrayBuffer())
  let at = 4 + new DataView(content.buffer).getUint32(0, true)
  const data = JSON.parse(new TextDecoder().decode(content.subarray(4, at)))
  const uvarint = () => {
    let n = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = content[at++]
      n += byte % 128 * scale
      if (byte < 128) return n
    }
  }
  const line = length => {
    const counts = new Float64Array(length)
    for (let i = 0, n = 0; i < length; i++) {
      const step = uvarint()
      n += step % 2 ? -(step + 1) / 2 : step / 2
      counts[i] = n
      for (let same = step ? 0 : uvarint(); same > 0; same--) counts[++i] = n
    }
    return counts
  }
  // A count of a week is spread over its days.
  const week = () => {
    const counts = new Float64Array(data.days)
    const weeks = data.weeks.concat(data.days)
    line(data.weeks.length).forEach((n, i) => {
      const days = weeks[i + 1] - weeks[i]
      for (let d = 0; d < days; d++) counts[weeks[i] + d] = Math.floor(n * (d + 1) / days) - Math.floor(n * d / days)
    })
    return counts
  }
  for (const cube of data.cubes) {
    cube.rows = cube.rows.map((values, i) => ({values, weekly: i >= cube.weekly, days: i >= cube.weekly ? week() : line(data.days)}))
  }
  return data
}
