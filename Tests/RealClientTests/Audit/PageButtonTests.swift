// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

/// Every button of the page, clicked with the mouse.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(TestSeed.minutes(3))))
struct PageButtonTests {
  private static let names =
    "[...document.querySelectorAll('.row b')].map((name) => name.textContent)"

  private func withPage(
    hasClipboard: Bool = false, _ body: @Sendable (Proxied, DevTools) async throws -> Void
  ) async throws {
    try await Proxied.with(hasPage: true) { proxied in
      try await DevTools.with(try #require(proxied.page), isAlone: hasClipboard) { tools in
        if hasClipboard { try await tools.permitClipboard() }
        try await tools.waitForPage()
        try await body(proxied, tools)
      }
    }
  }

  @Test func `A URL is fetched and pinned, played, stopped, and its proxy URL copied`()
    async throws
  {
    try await withPage(hasClipboard: true) { proxied, tools in
      proxied.origin.serve(FilledPage.tone, at: "/tone.wav")
      let url = proxied.origin.url("/tone.wav")
      let key = proxied.cache.key(for: Resource(url: url))
      let address = try proxied.proxied("/tone.wav").absoluteString
      try await tools.click(id: "url")
      try await tools.type(url.absoluteString)
      try await tools.click(id: "copy")
      try await tools.says("Copied \(address)")
      let copied: String = try await tools.evaluate("navigator.clipboard.readText()")
      #expect(copied == address)
      // As for a page that is read over a network without TLS.
      let _: Bool = try await tools.evaluate(
        """
        navigator.clipboard.writeText("").then(() => {
          document.getElementById("message").textContent = "";
          Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
          return true;
        })
        """)
      try await tools.click(id: "copy")
      try await tools.says("Copied \(address)")
      let again: String = try await tools.evaluate(
        "(delete navigator.clipboard, navigator.clipboard.readText())")
      #expect(again == address)
      let focused: String = try await tools.evaluate("document.activeElement.id")
      #expect(focused == "copy", "the field for copying took the focus")
      try await tools.click(id: "play")
      try await tools.wait(
        for: "sound",
        "document.querySelector('#player audio')?.readyState >= 2 "
          + "&& document.querySelector('#player audio').src === \(JSONText.of(address))")
      try await tools.click(button: "Stop", in: "#player")
      try await tools.wait(
        for: "silence",
        "document.getElementById('player').hidden && !document.querySelector('audio')")
      try await tools.click(id: "pin")
      try await tools.click(id: "fetch")
      try await tools.says("Added to the downloads.")
      let field: String = try await tools.evaluate("document.getElementById('url').value")
      #expect(field == "")
      try await tools.wait(
        for: "the download is complete, and the row pinned",
        "document.querySelector('.row .stored')?.textContent === '100%' "
          + "&& document.querySelector('.row small').textContent.startsWith('pinned')")
      let summary = try await proxied.cache.entry(for: key)
      #expect(summary?.isPinned == true && summary?.length == 8044)
    }
  }

  @Test func `A field without a URL asks for one`() async throws {
    try await withPage { proxied, tools in
      for button in ["fetch", "play", "copy"] {
        try await tools.click(id: button)
        let isAsked: Bool = try await tools.evaluate(
          "document.activeElement.id === 'url' && !document.activeElement.validity.valid")
        #expect(isAsked, "\(button)")
      }
      try await tools.type("ftp://example.org/a")
      for button in ["copy", "play", "fetch"] {
        try await tools.click(id: button)
        try await tools.wait(
          for: "a refusal by \(button)",
          "document.getElementById('message').className === 'error' "
            + "&& document.getElementById('message').textContent.includes('http')")
        let _: Bool = try await tools.evaluate(
          "(document.getElementById('message').className = '', true)")
      }
      #expect(try await proxied.cache.entries().isEmpty)
    }
  }

  @Test func `Downloads are rows that pause, go on and are cancelled`() async throws {
    try await withPage { proxied, tools in
      for name in ["x", "y", "z"] {
        proxied.origin.serve(.synthetic(seed: 4, length: 1 << 20), at: "/a/\(name)")
        proxied.origin.script("/a/\(name)", .on(.all, .stall(at: .body(1000))))
        try await FilledPage.add(proxied.origin.url("/a/\(name)"), tools)
      }
      try await tools.click("document.querySelector('#head [data-sort=name]')")
      func wait(for states: String) async throws {
        try await tools.wait(
          for: states,
          """
          [...document.querySelectorAll(".row")].map((row) =>
            row.querySelector("b").textContent + " "
            + row.querySelector("small").textContent.split(",")[0]).join("; ") === "\(states)"
          """)
      }
      func click(_ button: String, of name: String) async throws {
        try await tools.click(
          """
          [...document.querySelectorAll(".row")]
            .find((row) => row.querySelector("b").textContent === "\(name)")
            ?.querySelectorAll("button").values().find((button) =>
              button.textContent === "\(button)" && button.checkVisibility())
          """)
      }
      let (runs, waits) = ("is fetched", "waits for its turn")
      try await wait(for: "x \(runs); y \(runs); z \(waits)")
      try await click("Pause", of: "x")
      try await tools.says("Paused.")
      try await wait(for: "x paused; y \(runs); z \(runs)")
      try await click("Go on", of: "x")
      try await wait(for: "x \(waits); y \(runs); z \(runs)")
      try await click("Cancel", of: "y")
      try await tools.says("Cancelled.")
      try await wait(for: "x \(runs); y 127.0.0.1:\(proxied.origin.port); z \(runs)")
    }
  }

  /// A refusal may come from the proxy, or from whoever is between it and the browser.
  @Test func `Every kind of refusal is shown as a sentence`() async throws {
    try await withPage { _, tools in
      for (type, body, status, shown) in [
        ("text/plain", "Your address has sent too many requests.\n", 429, nil),
        ("application/json", #"{"error":"It is not allowed."}"#, 403, "It is not allowed."),
        ("text/html", "", 502, "The proxy responded 502."),
      ] as [(String, String, Int, String?)] {
        let _: Bool = try await tools.evaluate(
          """
          (() => {
            const fetch = window.fetch;
            window.fetch = async () => {
              window.fetch = fetch;
              return new Response(\(JSONText.of(body)),
                { status: \(status), headers: { "Content-Type": "\(type)" } });
            };
            return import("./page/page.js").then((store) => store.act({ action: "add" }));
          })()
          """)
        try await tools.says(shown ?? body.trimmingCharacters(in: .whitespacesAndNewlines))
      }
    }
  }

  @Test func `A row's name is text, and its buttons do what they say`() async throws {
    try await withPage(hasClipboard: true) { proxied, tools in
      let path = "/%3Cimg%20src=x%20onerror=alert(1)%3E.flac"
      proxied.origin.serve(
        OriginResource(
          .synthetic(seed: 2, length: 3 << 20), contentType: "audio/flac", etag: "\"a\""), at: path)
      let target = try proxied.proxied(path)
      #expect(try await Proxied.reply(to: target, ["Range: bytes=0-99"]).status == 206)
      try await tools.click("document.querySelector('.row')")
      let names: [String] = try await tools.evaluate(Self.names)
      #expect(names == ["<img src=x onerror=alert(1)>.flac"])
      let images: Int = try await tools.evaluate("document.querySelectorAll('img').length")
      #expect(images == 0)
      try await tools.click(button: "Fetch the rest", in: "#chosen")
      try await tools.wait(
        for: "everything is stored, and the button is gone",
        "document.getElementById('chosen').textContent.includes('100% stored') "
          + "&& !(\(DevTools.button("Fetch the rest", in: "#chosen")))")
      let key = proxied.cache.key(for: Resource(url: proxied.origin.url(path)))
      #expect(try await proxied.cache.progress(of: key).isComplete)
      try await tools.click(button: "Pin", in: "#chosen")
      try await tools.says("Pinned.")
      try await tools.click(button: "Unpin", in: "#chosen")
      try await tools.says("Unpinned.")
      try await tools.click(button: "Play", in: "#chosen")
      try await tools.wait(
        for: "the player",
        "document.querySelector('#player audio')?.src === \(JSONText.of(target.absoluteString))")
      try await tools.click(button: "Stop", in: "#player")
      try await tools.click(button: "Copy proxy URL", in: "#chosen")
      try await tools.says("Copied ")
      let copied: String = try await tools.evaluate("navigator.clipboard.readText()")
      #expect(copied == target.absoluteString)
      try await tools.click(button: "Remove", in: "#chosen")
      try await tools.click(button: "Keep", in: "#ask")
      try await tools.wait(for: "no question", "!document.getElementById('ask').open")
      #expect(try await proxied.cache.progress(of: key).isComplete)
      try await tools.click(button: "Remove", in: "#chosen")
      try await tools.click(button: "Remove", in: "#ask")
      try await tools.says("Removed.")
      try await tools.wait(for: "no row", "document.querySelectorAll('.row').length === 0")
      #expect(try await proxied.cache.entries().isEmpty)
    }
  }

  @Test func `Rows are sorted by each column, in both orders, and searched`() async throws {
    try await withPage { proxied, tools in
      // The four sizes, in the order of their names.
      for (name, length) in [("a.flac", 3000), ("b.mkv", 1000), ("c.flac", 4000), ("d.mp3", 2000)] {
        proxied.origin.serve(
          OriginResource(
            .synthetic(seed: 1, length: Int64(length)),
            contentType: "audio/" + name.drop { $0 != "." }.dropFirst(), etag: "\"\(name)\""),
          at: "/music/x/\(name)")
        try await FilledPage.add(proxied.origin.url("/music/x/\(name)"), tools)
      }
      try await tools.wait(for: "four rows", "document.querySelectorAll('.row').length === 4")
      try await tools.wait(
        for: "all is stored",
        "[...document.querySelectorAll('.row .stored')].every((cell) => cell.textContent === '100%')"
      )
      func wait(for order: String) async throws {
        try await tools.wait(
          for: order, "\(Self.names).map((name) => name[0]).join('') === '\(order)'")
      }
      func head(_ name: String, _ order: String) async throws {
        let element = "document.querySelector('#head [data-sort=\(name)]')"
        try await tools.click(element)
        try await tools.wait(for: "the arrow", "\(element).ariaSort === '\(order)'")
        let shown: String = try await tools.evaluate(
          "document.getElementById('sort').value + document.getElementById('direction').textContent"
        )
        #expect(shown.lowercased() == name + order)
      }
      try await head("name", "ascending")
      try await wait(for: "abcd")
      try await head("name", "descending")
      try await wait(for: "dcba")
      try await head("size", "descending")
      try await wait(for: "cadb")
      try await tools.click(id: "direction")
      try await wait(for: "bdac")
      try await head("type", "ascending")
      try await tools.wait(
        for: "flac before mkv before mp3", "\(Self.names).slice(2).join() === 'b.mkv,d.mp3'")
      for column in ["share", "rate", "used"] { try await head(column, "descending") }
      // As a person does in the field.
      let _: Bool = try await tools.evaluate("(document.getElementById('sort').focus(), true)")
      for key in [PageKey.home, .down] { try await tools.press(key) }
      try await wait(for: "abcd")
      try await tools.click(id: "search")
      try await tools.type("flac X/c")
      try await wait(for: "c")
      let found: String = try await tools.evaluate("document.getElementById('found').textContent")
      #expect(found == "1 row found")
    }
  }
}
