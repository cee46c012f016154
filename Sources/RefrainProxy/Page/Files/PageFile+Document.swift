// SPDX-License-Identifier: MIT

extension PageFile {
  /// The page. Everything that comes from elsewhere is added by scripts, as text.
  static let documentText = #"""
    <!doctype html>
    <html lang="en">
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="referrer" content="no-referrer">
    <meta name="color-scheme" content="light dark">
    <title>Refrain</title>
    <link rel="icon" href="page/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="page/style.css">
    <script type="module" src="page/main.js"></script>
    <body>
    <header>
      <h1>Refrain</h1>
      <dl id="figures">
        <div><dt>On disk</dt><dd id="disk">…</dd></div>
        <div><dt>Saved today</dt><dd id="saved-today">…</dd></div>
        <div><dt>Saved in all</dt><dd id="saved-all">…</dd></div>
        <div><dt>Hits today</dt><dd id="hits">…</dd></div>
        <div><dt>From origins</dt><dd id="received">…</dd></div>
        <div><dt>To players</dt><dd id="sent">…</dd></div>
      </dl>
      <meter id="disk-meter" min="0" max="1" high="0.95" value="0" hidden
        aria-label="Disk space used"></meter>
    </header>
    <form id="add" autocomplete="off" aria-label="Add a URL">
      <label for="url">Add a URL</label>
      <input id="url" type="url" inputmode="url" required spellcheck="false"
        placeholder="https://example.org/song.flac">
      <label class="check"><input id="pin" type="checkbox"> Pin it</label>
      <button id="fetch" type="submit">Fetch</button>
      <button id="play" type="button">Play</button>
      <button id="copy" type="button">Copy proxy URL</button>
    </form>
    <main>
    <div id="tabs" role="tablist" aria-label="Views">
      <button role="tab" id="tab-stored" aria-controls="stored" aria-selected="true"
        >Stored <span class="count"></span></button>
      <button role="tab" id="tab-downloads" aria-controls="downloads" aria-selected="false"
        tabindex="-1">Downloads <span class="count"></span></button>
      <button role="tab" id="tab-requests" aria-controls="requests" aria-selected="false"
        tabindex="-1">Requests <span class="count"></span></button>
      <button role="tab" id="tab-problems" aria-controls="problems" aria-selected="false"
        tabindex="-1">Problems <span class="count"></span></button>
    </div>
      <section id="stored" role="tabpanel" aria-labelledby="tab-stored">
        <div id="tools">
          <label for="search">Search</label>
          <input id="search" type="search" placeholder="Name, host or type" spellcheck="false"
            aria-keyshortcuts="/">
          <label for="sort">Sort by</label>
          <select id="sort">
            <option value="used">Last use</option>
            <option value="name">Name</option>
            <option value="type">Type</option>
            <option value="share">Stored share</option>
            <option value="size">Size</option>
            <option value="disk">Disk space</option>
            <option value="rate">Rate</option>
          </select>
          <button id="direction" type="button">Descending</button>
          <p id="found" class="quiet" role="status"></p>
          <p id="legend"><i class="full"></i>stored <i class="part"></i>partly
            <i class="fetch"></i>being fetched <i class="reader"></i>a reader
            <i class="none"></i>missing</p>
        </div>
        <div id="split">
          <div id="grid" role="grid" tabindex="0" aria-label="Stored resources"
            aria-describedby="keys" aria-readonly="true" aria-colcount="7">
            <div id="head" role="row" aria-rowindex="1">
              <span role="columnheader" aria-colindex="1" data-sort="name">Name</span>
              <span role="columnheader" aria-colindex="2" data-sort="type">Type</span>
              <span role="columnheader" aria-colindex="3">Strip</span>
              <span role="columnheader" aria-colindex="4" data-sort="share">Stored</span>
              <span role="columnheader" aria-colindex="5" data-sort="size">Size</span>
              <span role="columnheader" aria-colindex="6" data-sort="rate">Rate</span>
              <span role="columnheader" aria-colindex="7" data-sort="used">Last use</span>
            </div>
            <div id="rows" role="rowgroup"></div>
            <div id="none" role="row" aria-rowindex="2" hidden>
              <span id="empty" role="gridcell" aria-colindex="1" aria-colspan="7"></span>
            </div>
          </div>
          <section id="detail" hidden tabindex="-1" aria-label="Selected resource"></section>
        </div>
        <p id="keys">Keys: <kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> shows,
          <kbd>Space</kbd> plays, <kbd>C</kbd> copies the proxy URL, <kbd>P</kbd> pins,
          <kbd>F</kbd> fetches the rest, <kbd>Delete</kbd> removes, <kbd>/</kbd> searches.</p>
      </section>
      <section id="downloads" role="tabpanel" aria-labelledby="tab-downloads" tabindex="0"
        hidden></section>
      <section id="requests" role="tabpanel" aria-labelledby="tab-requests" tabindex="0"
        hidden></section>
      <section id="problems" role="tabpanel" aria-labelledby="tab-problems" tabindex="0"
        hidden></section>
    </main>
    <section id="player" aria-label="Player" hidden></section>
    <p id="message" role="status"></p>
    <dialog id="ask" aria-labelledby="question">
      <form method="dialog">
        <p id="question"></p>
        <button value="yes" class="danger">Remove</button>
        <button value="no" autofocus>Keep</button>
      </form>
    </dialog>
    <noscript>This page needs JavaScript.</noscript>
    """#

  static let iconText = #"""
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7"
    fill="#1f5fbf"/><path d="M6 20h8v5H6zM18 20h8v5h-8z" fill="#fff"/><path d="M25 13a9 9 0 0
    0-17-2M8 6v6h6" fill="none" stroke="#fff" stroke-width="3"/></svg>
    """#
}
