// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// The page for people who do not see it well, or do not see it: names, roles, contrast, targets,
/// width, motion. In every state, light and dark, on a desk and on a phone.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(TestSeed.minutes(3))))
struct PageAuditTests {
  private func audit(_ state: String, _ tools: DevTools) async throws {
    for look in PageLook.allCases {
      try await tools.look(look)
      let findings: [String] = try await tools.evaluate(
        AuditScript.findings(isPhone: look.isPhone))
      #expect(findings.isEmpty, "\(state), \(look): \(findings.joined(separator: "\n"))")
      try await tools.picture(
        "\(state.replacing(/[^a-zA-Z0-9.]+/, with: "-"))-\(look.rawValue)")
      #expect(try await tools.evaluate("innerWidth") == look.width, "\(state), \(look)")
    }
    try await tools.look(.light)
    let tree = try await AccessibilityTree(of: tools)
    #expect(tree.findings.isEmpty, "\(state): \(tree.findings.joined(separator: "\n"))")
  }

  @Test func `An empty page has no obstacles`() async throws {
    try await Proxied.with(hasPage: true) { proxied in
      try await DevTools.with(try #require(proxied.page)) { tools in
        try await tools.waitForPage()
        try await audit("empty", tools)
        let tree = try await AccessibilityTree(of: tools)
        #expect(tree.nodes.contains { $0.role == "gridcell" && $0.name.contains("Nothing") })
      }
    }
  }

  @Test func `Rows, a chosen one and its strip have no obstacles`() async throws {
    try await FilledPage.with { _, tools in
      try await audit("rows", tools)
      for look in PageLook.allCases {
        try await tools.look(look)
        // The checks of strips saw every kind of part.
        let colors: String = try await tools.evaluate(AuditScript.stripColors)
        #expect(colors == "fetch full none part rail reader", "\(look)")
      }
      let tree = try await AccessibilityTree(of: tools)
      #expect(tree.count("columnheader") == 7)
      let rows = tree.nodes.filter { $0.role == "row" }.map(\.name)
      #expect(rows.contains { $0.hasPrefix("film.mkv") && $0.contains("in 2 pieces") })
      #expect(rows.contains { $0.hasPrefix("slow.mkv") && $0.contains("1 reader") })
      #expect(rows.contains { $0.hasPrefix("main.m3u8") && $0.contains("1 part stored") })
      try await tools.look(.light)
      for name in ["film.mkv", "main.m3u8"] {
        try await tools.click(row: name)
        try await tools.wait(
          for: "\(name) in full",
          "document.getElementById('title').textContent === '\(name)'")
        try await audit("\(name) chosen", tools)
      }
      let full = try await AccessibilityTree(of: tools)
      #expect(full.nodes.filter { $0.role == "heading" }.map(\.level) == [1, 2])
      try await tools.click(id: "search")
      try await tools.type("nothing of this name")
      try await tools.wait(
        for: "the number of rows", "document.getElementById('found').textContent === '0 rows found'"
      )
      try await audit("no match", tools)
    }
  }

  @Test func `The page enlarged four times, the player and the dialog have no obstacles`()
    async throws
  {
    try await FilledPage.with { _, tools in
      // 1280 × 800 pixels at 400%: it scrolls in one direction (WCAG 2.2, 1.4.10).
      _ = try await tools.call(
        "Emulation.setDeviceMetricsOverride",
        ["width": 320, "height": 200, "deviceScaleFactor": 4, "mobile": false])
      try await tools.frames()
      let findings: [String] = try await tools.evaluate(AuditScript.findings(isPhone: true))
      #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
      try await tools.look(.light)
      try await tools.click(row: "tone")
      try await tools.click(button: "Play", in: "#chosen")
      try await tools.wait(
        for: "sound", "document.querySelector('#player audio')?.readyState >= 2")
      try await audit("playing", tools)
      try await tools.click(button: "Remove", in: "#chosen")
      try await tools.wait(for: "the dialog", "document.getElementById('ask').open")
      try await audit("dialog", tools)
    }
  }

  @Test func `The audit finds what is wrong`() async throws {
    try await Proxied.with(hasPage: true) { proxied in
      try await DevTools.with(try #require(proxied.page)) { tools in
        try await tools.waitForPage()
        try await tools.look(.lightPhone)
        let wrong: [(rule: String, change: String)] = [
          ("lang", "document.documentElement.lang = ''"),
          ("title", "document.title = ''"),
          ("name", "document.querySelector('label[for=url]').remove()"),
          ("label in name", "document.getElementById('fetch').ariaLabel = 'Get'"),
          ("role", "document.getElementById('keys').role = 'banana'"),
          ("attribute", "document.getElementById('keys').setAttribute('aria-lable', 'x')"),
          ("reference", "document.getElementById('grid').setAttribute('aria-describedby', 'x')"),
          ("child", "document.getElementById('grid').append(document.createElement('p'))"),
          ("tabindex", "document.getElementById('copy').tabIndex = 3"),
          ("heading", "document.querySelector('main').append(document.createElement('h4'))"),
          ("live", "document.getElementById('message').ariaLive = 'assertive'"),
          ("contrast", "document.getElementById('message').style.color = '#999999'"),
          ("edge", "document.getElementById('copy').style.borderColor = '#cccccc'"),
          (
            "target",
            "document.getElementById('copy').style.cssText = 'min-height: 0; height: 12px'"
          ),
          ("width", "document.querySelector('h1').style.minWidth = '500px'"),
          ("motion", "document.querySelector('h1').style.cssText = 'transition: 1s !important'"),
        ]
        for (rule, change) in wrong {
          if rule == "contrast" {
            let _: Bool = try await tools.evaluate(
              "import('./page/page.js').then((store) => (store.say('Hello.'), true))")
          }
          let _: Bool = try await tools.evaluate("(\(change), true)")
          let findings: [String] = try await tools.evaluate(AuditScript.findings(isPhone: true))
          #expect(findings.contains { $0.hasPrefix(rule + ":") }, "\(rule): \(findings)")
        }
      }
    }
  }
}
