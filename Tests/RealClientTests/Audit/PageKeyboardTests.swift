// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

/// The page by keyboard alone.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(TestSeed.minutes(3))))
struct PageKeyboardTests {
  private struct Focus: Decodable {
    var element: String
    /// The place among the elements that Tab reaches; -1: none of them.
    var place: Int
    var findings: [String]
  }

  /// Presses Tab until every element had its turn, and checks their order and that each is seen.
  private func walk(_ view: String, backwards: Bool, _ tools: DevTools) async throws {
    let wanted: [String] = try await tools.evaluate(AuditScript.reachable)
    let order = backwards ? Array(wanted.indices.reversed()) : Array(wanted.indices)
    var places: [Int] = []
    var unknown: Set<String> = []
    // From wherever the focus is now: one turn to the end, and one more. Parts of a player count.
    for _ in 0..<3 * wanted.count + 60 where places.count < order.count {
      try await tools.press(.tab, withShift: backwards)
      let focus: Focus = try await tools.evaluate(AuditScript.focus)
      #expect(focus.findings.isEmpty, "\(view): \(focus.findings)")
      if focus.place < 0, focus.element != "body" { unknown.insert(focus.element) }
      guard focus.place >= 0, focus.place != places.last else { continue }
      if places.isEmpty, focus.place != order.first { continue }
      places.append(focus.place)
    }
    #expect(places == order, "\(view), backwards: \(backwards): \(wanted)")
    #expect(unknown.isEmpty, "\(view)")
  }

  @Test(arguments: [PageLook.light, .darkPhone])
  func `Tab reaches everything in order, both ways, and each focus is seen`(
    _ look: PageLook
  ) async throws {
    try await FilledPage.with { _, tools in
      try await tools.look(look)
      try await tools.frames()
      for backwards in [false, true] { try await walk("rows", backwards: backwards, tools) }
      try await tools.click(row: "tone")
      try await tools.click(button: "Play", in: "#chosen")
      try await tools.wait(
        for: "sound", "document.querySelector('#player audio')?.readyState >= 2")
      try await tools.frames()
      for backwards in [false, true] { try await walk("playing", backwards: backwards, tools) }
    }
  }

  private func focused(_ tools: DevTools) async throws -> String {
    let focus: Focus = try await tools.evaluate(AuditScript.focus)
    #expect(focus.findings.isEmpty)
    return focus.element
  }

  @Test func `The dialog holds the focus, and gives it back`() async throws {
    try await FilledPage.with { proxied, tools in
      try await tools.click(id: "search")
      try await tools.type("tone")
      try await tools.press(.enter)
      try await tools.frames()
      #expect(try await focused(tools) == "div #grid 'Stored resources'")
      for isByButton in [false, true] {
        if isByButton {
          let _: Bool = try await tools.evaluate(
            "(\(DevTools.button("Remove", in: "#chosen")).focus(), true)")
          try await tools.press(.enter)
        } else {
          try await tools.press(.delete)
        }
        try await tools.wait(for: "the dialog", "document.getElementById('ask').open")
        // The harmless answer is the first.
        #expect(try await focused(tools) == "button #ask 'Keep'")
        for _ in 0..<5 {
          try await tools.press(.tab)
          let isInside: Bool = try await tools.evaluate(
            "['BODY', 'BUTTON'].includes(document.activeElement.tagName) "
              + "&& (document.activeElement === document.body "
              + "|| document.getElementById('ask').contains(document.activeElement))")
          #expect(isInside)
        }
        try await tools.press(.escape)
        try await tools.wait(for: "no dialog", "!document.getElementById('ask').open")
        #expect(
          try await focused(tools)
            == (isByButton ? "button #chosen 'Remove'" : "div #grid 'Stored resources'"))
      }
      // With the last row, the panel goes; the focus stays on the page.
      try await tools.press(.enter)
      try await tools.wait(for: "the dialog", "document.getElementById('ask').open")
      let _: Bool = try await tools.evaluate(
        "(\(DevTools.button("Remove", in: "#ask")).focus(), true)")
      try await tools.press(.enter)
      try await tools.says("Removed.")
      try await tools.wait(for: "no row", "document.querySelectorAll('.row').length === 0")
      try await tools.frames()
      #expect(try await focused(tools) == "div #grid 'Stored resources'")
      let key = proxied.cache.key(for: Resource(url: proxied.origin.url("/tone.wav")))
      #expect(try await proxied.cache.entry(for: key) == nil)
    }
  }

  @Test func `No button takes the focus with it when it goes`() async throws {
    try await FilledPage.with { _, tools in
      func focus(_ text: String, in place: String) async throws {
        let _: Bool = try await tools.evaluate(
          "(\(DevTools.button(text, in: place)).focus(), true)")
      }
      try await tools.click(id: "search")
      try await tools.type("film")
      try await tools.press(.down)
      try await tools.wait(for: "the row in full", "!document.getElementById('chosen').hidden")
      try await focus("Fetch the rest", in: "#chosen")
      try await tools.press(.enter)
      try await tools.says("Added to the downloads.")
      try await tools.wait(
        for: "the focus on the list", "document.activeElement === document.getElementById('grid')")
      try await tools.click(id: "search")
      let _: Bool = try await tools.evaluate("(document.getElementById('search').select(), true)")
      try await tools.type("tone")
      try await tools.press(.down)
      try await tools.press(.space)
      try await tools.wait(for: "the player", "document.querySelector('#player audio')")
      try await focus("Stop", in: "#player")
      try await tools.press(.enter)
      try await tools.wait(for: "no player", "document.getElementById('player').hidden")
      #expect(try await focused(tools) == "div #grid 'Stored resources'")
    }
  }

  @Test func `Every key of the list does what the page says`() async throws {
    try await FilledPage.with(hasClipboard: true) { proxied, tools in
      let tone = proxied.cache.key(for: Resource(url: proxied.origin.url("/tone.wav")))
      try await tools.press(.slash)
      #expect(try await focused(tools) == "input #search")
      try await tools.type("wav")
      try await tools.wait(
        for: "the row", "document.getElementById('found').textContent === '1 row found'")
      try await tools.press(.down)
      try await tools.wait(
        for: "the row is active",
        "document.getElementById(document.getElementById('grid')"
          + ".getAttribute('aria-activedescendant'))?.textContent.startsWith('tone')")
      for (isPinned, said) in [(true, "Pinned."), (false, "Unpinned.")] {
        try await tools.press(.letter("p"))
        try await tools.says(said)
        #expect(try await proxied.cache.entry(for: tone)?.isPinned == isPinned)
        try await tools.wait(
          for: "the row says so",
          "document.querySelector('.row').textContent.includes('pinned') === \(isPinned)")
      }
      try await tools.press(.letter("c"))
      try await tools.says("Copied ")
      let copied: String = try await tools.evaluate("navigator.clipboard.readText()")
      #expect(copied == (try proxied.proxied("/tone.wav").absoluteString))
      try await tools.press(.letter("f"))
      try await tools.says("Added to the downloads.")
      try await tools.press(.space)
      try await tools.wait(
        for: "the player",
        "document.querySelector('#player audio')?.src === \(JSONText.of(copied))")
      let _: Bool = try await tools.evaluate(
        "(document.getElementById('search').select(), document.getElementById('search').focus(), "
          + "true)")
      try await tools.type(".")
      try await tools.press(.enter)
      // By name: what is read or fetched moves none of them.
      let _: Bool = try await tools.evaluate(
        """
        (() => {
          const sort = document.getElementById("sort");
          sort.value = "name";
          return sort.dispatchEvent(new Event("change"));
        })()
        """)
      // The columns' names are row 1; the last one has the number of all.
      let grid = "document.getElementById('grid')"
      for (key, index) in [
        (PageKey.end, "+\(grid).ariaRowCount"), (.up, "\(grid).ariaRowCount - 1"), (.home, "2"),
        (.down, "3"),
      ] {
        try await tools.press(key)
        try await tools.wait(
          for: "row \(index)",
          "document.querySelector('.row[aria-selected=true]')?.ariaRowIndex == \(index)")
      }
    }
  }
}
