// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

/// The proxy's page in a browser.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(TestSeed.minutes(3))))
struct ProxyPageTests {
  @Test func `The strip shows exactly the stored spans after random seeks`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (strip of the page)")
    try await Proxied.with(hasPage: true) { proxied in
      let length: Int64 = 64 << 20
      proxied.origin.serve(.synthetic(seed: 7, length: length), at: "/film.mkv")
      let url = try proxied.proxied("/film.mkv")
      let key = proxied.cache.key(for: Resource(url: proxied.origin.url("/film.mkv")))
      let page = try #require(proxied.page)
      try await DevTools.with(page) { tools in
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
          let start = Int64.random(in: 0..<length - (1 << 20), using: &random)
          let count = Int64.random(in: 1...(1 << 20), using: &random)
          let host = "127.0.0.1:\(page.port ?? 0)"
          let target = url.path(percentEncoded: true)
          let reply = try await RawConnection.open(port: page.port ?? 0) {
            try await $0.reply(
              to: target, ["Range: bytes=\(start)-\(start + count - 1)"], host: host)
          }
          #expect(reply.status == 206 && reply.body.count == Int(count))
          try await eventually("the strip equals the spans") {
            let pixels: String = try await tools.evaluate(PageStrip.pixels(ofRow: "film.mkv"))
            guard let summary = try await proxied.cache.entry(for: key) else { return false }
            return PageStrip.agrees(pixels, with: summary.spans, of: summary.length)
          }
        }
        let summary = try #require(try await proxied.cache.entry(for: key))
        #expect(summary.spans.ranges.count > 5)
      }
    }
  }

  @Test func `Of ten thousand rows only those in sight are elements`() async throws {
    try await Proxied.with(hasPage: true) { proxied in
      try await DevTools.with(try #require(proxied.page)) { tools in
        try await eventually("the page is there") {
          try await tools.evaluate("document.getElementById('disk')?.textContent ?? '…'") != "…"
        }
        let shown: [String] = try await tools.evaluate(
          """
          (async () => {
            const store = await import("./page/page.js");
            const frames = () => new Promise((done) =>
              requestAnimationFrame(() => requestAnimationFrame(() => done())));
            const grid = document.getElementById("grid");
            for (let index = 0; index < 10000; index++) {
              const name = "song " + String(index).padStart(5, "0");
              store.rows.set(name, {
                key: name, url: "https://example.org/" + name, name, text: name, length: 1000,
                stored: 500, disk: 4096, used: index, pinned: "no", rate: 0, spans: [0, 500],
                fetching: [], readers: [],
              });
            }
            const report = [];
            const note = () => {
              const rows = [...document.querySelectorAll(".row")];
              const texts = rows.map((row) => row.querySelector("b").textContent).sort();
              report.push([rows.length, texts[0], texts.at(-1)].join(" "));
            };
            store.arrange();
            await frames();
            note();
            grid.scrollTop = grid.scrollHeight;
            await frames();
            await frames();
            note();
            grid.focus();
            grid.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
            await frames();
            const active = document.getElementById(grid.getAttribute("aria-activedescendant"));
            report.push(active.querySelector("b").textContent + " " + active.ariaSelected);
            const search = document.getElementById("search");
            search.value = "song 0421";
            search.dispatchEvent(new Event("input"));
            await frames();
            note();
            report.push(grid.getAttribute("aria-rowcount"));
            return report;
          })()
          """)
        #expect(shown.count == 5)
        let parts = shown.map { $0.split(separator: " ").map(String.init) }
        #expect((8...60).contains(Int(parts[0][0]) ?? 0) && shown[0].hasSuffix("song 09999"))
        #expect((8...60).contains(Int(parts[1][0]) ?? 0) && shown[1].contains(" song 00000 song"))
        #expect(shown[2] == "song 00000 true")
        #expect(shown[3] == "11 song 00421 song 04219")
        #expect(shown[4] == "12")
      }
    }
  }

  @Test func `Names are text, and every button does what it says`() async throws {
    try await Proxied.with(hasPage: true) { proxied in
      let name = "%3Cimg%20src=x%20onerror=alert(1)%3E.flac"
      proxied.origin.serve(
        OriginResource(.synthetic(seed: 1, length: 5000), contentType: "audio/flac", etag: "\"a\""),
        at: "/\(name)")
      let url = proxied.origin.url("/\(name)").absoluteString
      try await DevTools.with(try #require(proxied.page)) { tools in
        func click(_ text: String, in place: String) async throws {
          try await eventually("the button \(text) is there") {
            try await tools.evaluate(
              """
              (() => {
                const button = [...document.querySelectorAll("\(place) button")]
                  .find((button) => button.textContent === "\(text)" && button.offsetParent);
                button?.click();
                return button !== undefined;
              })()
              """)
          }
        }
        func says(_ text: String) async throws {
          try await eventually("the page says \(text)") {
            let said: String = try await tools.evaluate(
              "document.getElementById('message')?.textContent ?? ''")
            return said.hasPrefix(text)
          }
        }
        try await eventually("the page is there") {
          try await tools.evaluate("document.getElementById('disk')?.textContent ?? '…'") != "…"
        }
        let _: Bool = try await tools.evaluate(
          "(document.getElementById('url').value = \(JSONText.of(url)), true)")
        try await click("Fetch", in: "#add")
        try await says("Added to the downloads.")
        try await eventually("the download is complete") {
          let text: String = try await tools.evaluate(
            "document.querySelector('.row .stored')?.textContent ?? ''")
          return text == "100%"
        }
        try await eventually("the row is there") {
          try await tools.evaluate(
            """
            (() => {
              const row = document.querySelector(".row");
              row?.click();
              return row?.querySelector("b").textContent === "<img src=x onerror=alert(1)>.flac"
                && !document.querySelector("img");
            })()
            """)
        }
        try await click("Pin", in: "#chosen")
        try await says("Pinned.")
        try await eventually("the button changes") {
          let text: String = try await tools.evaluate(
            "document.getElementById('chosen').textContent")
          return text.contains("Unpin")
        }
        try await click("Unpin", in: "#chosen")
        try await says("Unpinned.")
        try await click("Play", in: "#chosen")
        try await eventually("the media element has the proxy's URL") {
          let source: String = try await tools.evaluate(
            "document.querySelector('#player audio')?.src ?? ''")
          return source == (try proxied.proxied("/\(name)").absoluteString)
        }
        try await click("Stop", in: "#player")
        try await click("Remove", in: "#chosen")
        try await click("Remove", in: "#ask")
        try await says("Removed.")
        try await eventually("the row is gone") {
          try await tools.evaluate("document.querySelectorAll('.row').length") == 0
        }
      }
      #expect(try await proxied.cache.entries().isEmpty)
    }
  }
}
