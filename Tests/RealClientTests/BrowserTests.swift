// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// The browser that drives other tests.
@Suite(.enabled(if: RequiredProgram.chromium.isUsable), .timeLimit(.minutes(2)))
struct BrowserTests {
  @Test func `A browser that has crashed ends its calls, and is replaced`() async throws {
    let shared = SharedBrowser()
    let first = try await shared.running()
    _ = try await first.call("Browser.getVersion")
    // Nothing answers this.
    await #expect(throws: ClientFailure.self) { try await first.call("Browser.crash") }
    #expect(!first.isRunning)
    let second = try await shared.running()
    #expect(second !== first && second.isRunning)
    _ = try await second.call("Browser.getVersion")
    await second.close()
  }

  @Test func `A call that is cancelled ends, and the browser goes on`() async throws {
    let browser = try Browser()
    let page = try await browser.call("Target.createTarget", ["url": "about:blank"])
    struct Target: Decodable { var targetId: String }
    struct Attached: Decodable { var sessionId: String }
    let target = try JSONDecoder().decode(Target.self, from: page).targetId
    let session = try JSONDecoder().decode(
      Attached.self,
      from: try await browser.call(
        "Target.attachToTarget", ["targetId": target, "flatten": true])
    ).sessionId
    let call = Task {
      _ = try await browser.call(
        "Runtime.evaluate", ["expression": "new Promise(() => {})", "awaitPromise": true],
        session: session)
    }
    call.cancel()
    await #expect(throws: CancellationError.self) { try await call.value }
    _ = try await browser.call("Browser.getVersion")
    await browser.close()
  }
}
