// The script of the dashboard. Every page works without it.
'use strict'
const body = document.body
const byId = id => document.getElementById(id)

// The zone of the browser, at the first visit.
if (!/(^|; )skidway-view=/.test(document.cookie)) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  if (zone && zone !== 'UTC') {
    document.cookie = 'skidway-view=zone%3D' + encodeURIComponent(encodeURIComponent(zone)) + '; path=' + body.dataset.base + '/; max-age=31536000; samesite=lax'
    location.reload()
  }
}

// Strips that scroll sideways show the current page.
document.querySelector('.rail [aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'})
