// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// The page of a node in a browser: on the operator's listener, with media from the public one.
@Suite(
  .enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(TestSeed.minutes(2))))
struct NodePageTests {
  @Test func `A node's page fetches, plays from the public listener, and removes`() async throws {
    try await Proxied.with(hasPage: true, isNode: true) { proxied in
      proxied.origin.serve(FilledPage.tone, at: "/tone.wav")
      let address = try proxied.proxied("/tone.wav")
      let page = try #require(proxied.page)
      #expect(address.port != page.port)
      try await DevTools.with(page) { tools in
        try await tools.waitForPage()
        try await tools.click(id: "url")
        try await tools.type(proxied.origin.url("/tone.wav").absoluteString)
        try await tools.click(id: "fetch")
        try await tools.says("Added to the downloads.")
        // Until then, "Remove" cancels the download.
        try await tools.wait(
          for: "the end of the download",
          "document.querySelector('.row .stored')?.textContent === '100%' "
            + "&& !document.querySelector('.row button').checkVisibility()")
        try await tools.click("document.querySelector('.row')")
        try await tools.click(button: "Play", in: "#chosen")
        try await tools.wait(
          for: "sound from the public listener",
          "document.querySelector('#player audio')?.currentTime > 0 "
            + "&& document.querySelector('#player audio').src "
            + "=== \(JSONText.of(address.absoluteString))")
        try await tools.click(button: "Stop", in: "#player")
        try await tools.click(button: "Remove", in: "#chosen")
        try await tools.click(button: "Remove", in: "#ask")
        try await tools.says("Removed.")
        try await tools.wait(for: "no row", "document.querySelectorAll('.row').length === 0")
        let findings: [String] = try await tools.evaluate(AuditScript.findings(isPhone: false))
        #expect(findings.isEmpty)
      }
    }
  }

  @Test func `No page of the public listener can use the operator's`() async throws {
    try await Proxied.with(hasPage: true, isNode: true) { proxied in
      // A page of the origin, as its clients see it: in a sandbox, without scripts of its own.
      proxied.origin.serve(
        OriginResource(
          .bytes(Data("<!doctype html><title>x</title>".utf8)), contentType: "text/html"),
        at: "/x.html")
      let page = try #require(proxied.page)
      try await DevTools.with(try proxied.proxied("/x.html")) { tools in
        try await tools.wait(for: "the origin's page", "document.title === 'x'")
        let tried: [String] = try await tools.evaluate(
          """
          (async () => {
            const page = \(JSONText.of(page.absoluteString));
            const tried = async (name, act) => {
              try { return name + " " + await act(); } catch { return name + " refused"; }
            };
            const post = (fields) => fetch(page + "page/action", {
              method: "POST", headers: fields,
              body: JSON.stringify({ action: "add", url: new URL("/secret", location) }),
            }).then((answer) => answer.status);
            return [
              await tried("state", () => fetch(page + "page/state").then((a) => a.status)),
              await tried("plain", () => post({ "Content-Type": "text/plain" })),
              await tried("json", () => post(
                { "Content-Type": "application/json", "X-Refrain-Page": "1" })),
            ];
          })()
          """)
        #expect(tried.count == 3 && tried.allSatisfy { $0.hasSuffix(" refused") }, "\(tried)")
      }
      // What was sent without a preflight changed nothing.
      let state = try await Proxied.reply(to: page.appending(path: "page/state"))
      #expect(state.status == 200 && state.text.contains("rows"))
      #expect(!state.text.contains("/secret"))
    }
  }
}
