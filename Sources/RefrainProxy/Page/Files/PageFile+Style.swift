// SPDX-License-Identifier: MIT

extension PageFile {
  /// Light and dark by the system's setting; one column on a phone.
  static let styleText = #"""
    :root {
      color-scheme: light dark;
      --back: #ffffff; --raised: #f3f5f8; --line: #c9d0da; --edge: #76818f; --text: #1b2430; --faint: #55606f;
      --accent: #1d5bb8; --on-accent: #ffffff; --danger: #b3261e; --chosen: #dce8fa;
      --full: #123f86; --part: #5583c9; --none: #e8ebf0; --fetch: #b45309; --reader: #1b2430;
      --rail: #76818f;
      --row: 46px;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --back: #12161c; --raised: #1b212a; --line: #3b4655; --edge: #76839a; --text: #e8edf4; --faint: #a5b1c1;
        --accent: #7db1ff; --on-accent: #0c1420; --danger: #ff8f86; --chosen: #233450;
        --full: #8dbaff; --part: #5480c2; --none: #252c37; --fetch: #f5a742; --reader: #e8edf4;
        --rail: #76839a;
      }
    }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    html, body { height: 100%; }
    body {
      margin: 0; display: flex; flex-direction: column; gap: 8px; padding: 10px 16px;
      background: var(--back); color: var(--text);
      font: 14px/1.4 system-ui, sans-serif;
    }
    h1 { font-size: 18px; margin: 0; }
    h2, h3 { font-size: 15px; margin: 0 0 6px; overflow-wrap: anywhere; }
    .quiet { position: absolute; clip-path: inset(50%); white-space: nowrap; }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 22px; }
    #figures { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 0; }
    #figures dt { color: var(--faint); font-size: 12px; }
    #figures dd { margin: 0; font-variant-numeric: tabular-nums; white-space: nowrap; }
    meter { flex: 1 1 120px; min-width: 80px; height: 14px; }
    form#add, #tools { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 8px; }
    label { color: var(--faint); }
    input[type=url], input[type=search] { flex: 1 1 200px; min-width: 0; }
    input, select, button {
      font: inherit; color: inherit; background: var(--raised); min-height: 32px;
      border: 1px solid var(--edge); border-radius: 6px; padding: 3px 10px;
    }
    ::placeholder { color: var(--faint); opacity: 1; }
    .check { display: inline-flex; align-items: center; gap: 4px; min-height: 32px; }
    input[type=checkbox] { min-height: 0; margin: 0; }
    button { cursor: pointer; }
    button:hover { border-color: var(--accent); }
    button[type=submit] { background: var(--accent); color: var(--on-accent); }
    button.danger { color: var(--danger); border-color: var(--danger); }
    button:disabled { opacity: .5; cursor: default; }
    :focus-visible, audio:focus-within, video:focus-within {
      outline: 3px solid var(--accent); outline-offset: 1px;
    }
    #grid:focus-visible, [role=tab]:focus-visible, [role=tabpanel]:focus-visible,
    #detail:focus-visible { outline-offset: -3px; }
    [role=tablist] {
      display: flex; flex-wrap: wrap; gap: 4px; border-bottom: 1px solid var(--line);
    }
    [role=tab] { background: none; border: 0; border-radius: 6px 6px 0 0; color: var(--faint); }
    [role=tab][aria-selected=true] {
      color: var(--text); font-weight: 600; box-shadow: inset 0 -3px var(--accent);
    }
    /* Enlarged, or in a low window, the page scrolls; the rows keep some height. */
    main { flex: 1 0 300px; min-height: 0; display: flex; flex-direction: column; gap: 8px; }
    [role=tabpanel] { flex: 1; min-width: 0; min-height: 0; overflow: auto; }
    #stored {
      display: flex; flex-direction: column; gap: 8px; overflow: hidden;
      /* Room for the rings of the focus. */
      padding: 4px; margin: -4px;
    }
    #legend, #keys { margin: 0; color: var(--faint); font-size: 12px; }
    #legend { flex: 1 1 auto; text-align: right; white-space: nowrap; }
    #legend i {
      display: inline-block; width: 14px; height: 10px; margin: 0 4px 0 10px;
      background: var(--none);
    }
    #legend i.full { background: var(--full); }
    #legend i.part { background: var(--part); }
    #legend i.fetch { height: 4px; background: var(--fetch); vertical-align: middle; }
    #legend i.reader { width: 3px; background: var(--reader); }
    #legend i.none { outline: 1px solid var(--line); }
    #split { flex: 1; min-height: 0; display: flex; gap: 12px; }
    #grid {
      flex: 1; min-width: 0; min-height: 130px; overflow-y: auto; position: relative; border: 1px solid var(--line);
      border-radius: 6px;
    }
    #head, .row {
      display: grid; align-items: center; gap: 0 12px; padding: 0 10px;
      grid-template-columns:
        minmax(140px, 3fr) minmax(70px, 1fr) minmax(100px, 3fr) 72px 84px 92px 96px;
    }
    #head {
      position: sticky; top: 0; z-index: 1; height: 30px; background: var(--raised);
      border-bottom: 1px solid var(--line); color: var(--faint); font-size: 12px;
    }
    #rows { position: relative; }
    .row {
      position: absolute; left: 0; right: 0; top: 0; height: var(--row);
      border-bottom: 1px solid var(--line); cursor: default; contain: strict;
    }
    .row[aria-selected=true] { background: var(--chosen); box-shadow: inset 4px 0 var(--accent); }
    .row > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .name b { display: block; font-weight: 500; overflow: hidden; text-overflow: ellipsis; }
    .name small { display: block; color: var(--faint); overflow: hidden; text-overflow: ellipsis; }
    #head [data-sort] { cursor: pointer; }
    #head [aria-sort=ascending]::after { content: " ▲" / ""; }
    #head [aria-sort=descending]::after { content: " ▼" / ""; }
    .stored, .size, .rate, .used, #head span:nth-child(n+4) {
      text-align: right; font-variant-numeric: tabular-nums;
    }
    canvas { display: block; width: 100%; height: 18px; }
    #empty { display: block; padding: 30px; color: var(--faint); text-align: center; }
    #detail {
      flex: 0 0 380px; overflow: auto; border: 1px solid var(--line); border-radius: 6px;
      padding: 12px; background: var(--raised);
    }
    #detail dl { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; margin: 10px 0; }
    #detail dt { color: var(--faint); }
    #detail dd { margin: 0; overflow-wrap: anywhere; }
    #detail .buttons, .item .buttons { display: flex; flex-wrap: wrap; gap: 6px; }
    #detail .variant { margin: 8px 0; }
    #detail canvas { margin: 2px 0 6px; }
    .list { list-style: none; margin: 0; padding: 0; }
    .item {
      display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; padding: 6px 4px;
      border-bottom: 1px solid var(--line);
    }
    .item .text { flex: 1 1 260px; min-width: 0; overflow-wrap: anywhere; }
    .item .facts { color: var(--faint); font-variant-numeric: tabular-nums; }
    .item .error, .item.fault .text { color: var(--danger); }
    .item progress { flex: 0 1 160px; }
    #player { border-top: 1px solid var(--line); padding-top: 8px; display: flex; gap: 8px;
      flex-wrap: wrap; align-items: center; }
    #player audio { flex: 1 1 300px; }
    #player video { max-height: 32vh; max-width: 100%; background: #000; }
    #player span { flex: 1 1 200px; overflow-wrap: anywhere; }
    #message { margin: 0; min-height: 20px; color: var(--faint); overflow-wrap: anywhere; }
    #message.error { color: var(--danger); }
    dialog { border: 1px solid var(--line); border-radius: 8px; background: var(--back);
      color: var(--text); max-width: 90vw; overflow-wrap: anywhere; }
    @media (max-width: 1000px) {
      #split { flex-direction: column; }
      #detail { flex: 0 1 auto; max-height: 55%; }
    }
    @media (max-width: 700px) {
      :root { --row: 78px; }
      body { padding: 8px; }
      #head { position: absolute; clip-path: inset(50%); width: 1px; overflow: hidden; }
      #keys, #legend { display: none; }
      #figures { gap: 2px 14px; }
      label:not(.check) { position: absolute; clip-path: inset(50%); white-space: nowrap; }
      [role=tablist] { gap: 0; }
      [role=tab] { padding: 3px 6px; white-space: nowrap; }
      #search { flex-basis: 90px; }
      #tools select, #tools button { padding: 3px 5px; }
      .row {
        grid-template-columns: 1fr auto auto; grid-template-rows: 38px 22px; align-content: center;
      }
      .row .name { grid-area: 1 / 1 / 2 / 3; }
      .row .size { grid-area: 1 / 3; }
      .row .strip { grid-area: 2 / 1 / 3 / 3; }
      .row .stored { grid-area: 2 / 3; }
      .row .type, .row .rate, .row .used { display: none; }
    }
    @media (prefers-reduced-motion: reduce) {
      *, ::before, ::after { animation: none !important; transition: none !important; }
      /* The browser moves the bar of a download of unknown length. */
      progress:indeterminate {
        appearance: none; height: 10px; border: 1px solid var(--edge); background: var(--none);
      }
      progress:indeterminate::-webkit-progress-bar { background: none; }
    }
    @media (forced-colors: active) {
      .row[aria-selected=true], [role=tab][aria-selected=true] { outline: 2px solid Highlight; }
      #legend i { forced-color-adjust: none; }
    }
    """#
}
