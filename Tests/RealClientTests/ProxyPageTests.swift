// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

/// The strips and the rows of the proxy's page in a browser.
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
          let reply = try await Proxied.reply(
            to: url, ["Range: bytes=\(start)-\(start + count - 1)"])
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

  /// Defines a function that adds rows to the page's store.
  private static let adding = """
    (() => {
      globalThis.addSongs = (store, from, count) => {
        for (let index = from; index < from + count; index++) {
          const name = "song " + String(index).padStart(5, "0");
          store.rows.set(name, {
            key: name, url: "https://example.org/" + name, name, text: name, length: 1000,
            stored: 500, disk: 4096, used: index, pinned: "no", rate: 0, spans: [0, 500],
            fetching: [], readers: [],
          });
        }
        store.arrange();
      };
      return true;
    })()
    """

  /// What the page reports of its frames, in milliseconds.
  private struct Frames: Decodable, Sendable, CustomStringConvertible {
    var count: Int
    var median: Double
    var longest: Double
    /// The longest time that scripts and layout took without a pause; 0: less than 50 ms.
    var longestTask: Double
    /// The most rows that were elements at once.
    var mostElements: Int
    /// The names of the first rows after each step, each once.
    var places: Int
    var rows: Int

    var description: String {
      "\(count) frames: median \(Int(median)) ms, longest \(Int(longest)) ms, longest task "
        + "\(Int(longestTask)) ms; at most \(mostElements) elements of \(rows) rows"
    }
  }

  /// Scrolls by 60 steps over all rows, and takes ten batches of a hundred new rows in between, as
  /// the store takes them from the proxy.
  private static let scrolling = """
    (async () => {
      const store = await import("./page/page.js");
      const grid = document.getElementById("grid");
      const frame = () => new Promise((done) =>
        requestAnimationFrame(() => done(performance.now())));
      let longestTask = 0;
      const tasks = new PerformanceObserver((list) => {
        for (const task of list.getEntries()) longestTask = Math.max(longestTask, task.duration);
      });
      store.rows.clear();
      addSongs(store, 0, 10000);
      grid.scrollTop = 0;
      await frame();
      await frame();
      tasks.observe({ entryTypes: ["longtask"] });
      const times = [];
      const places = new Set();
      let mostElements = 0, last = await frame();
      for (let step = 1; step <= 60; step++) {
        if (step % 6 === 0) addSongs(store, 10000 + (step / 6 - 1) * 100, 100);
        grid.scrollTop = step * (grid.scrollHeight - grid.clientHeight) / 60;
        // The rows are painted in the frame after the one that reports the scrolling.
        for (let painted = 0; painted < 2; painted++) {
          const now = await frame();
          times.push(now - last);
          last = now;
        }
        const rows = document.querySelectorAll(".row");
        mostElements = Math.max(mostElements, rows.length);
        places.add(rows[0]?.querySelector("b").textContent);
      }
      tasks.disconnect();
      times.sort((a, b) => a - b);
      return {
        count: times.length, median: times[times.length >> 1], longest: times.at(-1), longestTask,
        mostElements, places: places.size, rows: store.shown.length,
      };
    })()
    """

  @Test func `Of ten thousand rows only those in sight are elements, also while others come`()
    async throws
  {
    try await Proxied.with(hasPage: true) { proxied in
      try await DevTools.with(try #require(proxied.page)) { tools in
        try await tools.waitForPage()
        let _: Bool = try await tools.evaluate(Self.adding)
        let shown: [String] = try await tools.evaluate(
          """
          (async () => {
            const store = await import("./page/page.js");
            const frames = () => new Promise((done) =>
              requestAnimationFrame(() => requestAnimationFrame(() => done())));
            const grid = document.getElementById("grid");
            addSongs(store, 0, 10000);
            const report = [];
            const note = () => {
              const rows = [...document.querySelectorAll(".row")];
              const texts = rows.map((row) => row.querySelector("b").textContent).sort();
              report.push([rows.length, texts[0], texts.at(-1)].join(" "));
            };
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
            search.value = "";
            search.dispatchEvent(new Event("input"));
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
        var longest: [Double] = []
        // A busy machine may delay a frame by as long as it likes, but not one in each of three
        // rounds.
        for _ in 0..<3 {
          let frames: Frames = try await tools.evaluate(Self.scrolling)
          print("Scrolling the page: \(frames)")
          #expect(frames.rows == 11_000)
          #expect((8...60).contains(frames.mostElements))
          #expect(frames.places > 50)
          longest.append(frames.longest)
          if frames.longest < 1000 { break }
        }
        #expect(longest.contains { $0 < 1000 }, "\(longest) ms")
      }
    }
  }
}
