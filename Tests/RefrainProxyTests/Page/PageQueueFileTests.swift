// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// The queue of downloads after the end of the program, and while another one takes over.
@Suite(.timeLimit(.minutes(1))) struct PageQueueFileTests {
  private let directory = FileManager.default.temporaryDirectory.appending(
    path: "refrain-queue-test-\(UUID().uuidString)", directoryHint: .isDirectory)

  private func run(
    _ origin: OriginServer, hosts: [String] = [], _ body: (TestProxy, Page) async throws -> Void
  ) async throws {
    try await withProxy(
      directory: directory, origin: origin,
      proxy: { configuration, _ in
        configuration.servesPage = true
        configuration.allowedHosts = hosts
      }
    ) { test in
      let page = try #require(test.proxy.service.page)
      try await body(test, page)
    }
  }

  /// Serves resources whose first requests stall.
  private func serve(_ paths: [String], on origin: OriginServer) {
    for path in paths {
      origin.serve(.synthetic(seed: 3, length: 1 << 20), at: path)
      origin.script(path, .on(.first(1), .stall(at: .body(1000))))
    }
  }

  private func states(_ page: Page) -> [String: DownloadQueue.Item.State] {
    let items = page.downloads.items.map { item in
      ("/\(item.url.split(separator: "/").last ?? "")", item.state)
    }
    return Dictionary(items) { first, _ in first }
  }

  private var file: URL { directory.appending(path: "private/downloads.json") }

  /// Replaces the file, as another program would have.
  private func write(_ text: String, _ origin: OriginServer) async throws {
    try await run(origin) { test, _ in
      try test.cache.privateFiles.replace(PageQueueFile.name, with: Array(text.utf8))
    }
  }

  @Test func `Downloads go on after a restart, and paused ones stay paused`() async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    serve(["/a", "/b", "/c"], on: origin)
    try await run(origin) { test, page in
      for path in ["/a", "/b", "/c"] {
        let url = origin.url(path).absoluteString
        page.downloads.change { _ = $0.add(url, isPinned: path == "/a") }
      }
      for path in ["/a", "/b"] { try await origin.wait(for: path) { $0.stalled == 1 } }
      let second = try #require(page.downloads.items.dropFirst().first)
      let isPaused = page.downloads.change { $0.pause(second.id) }
      #expect(isPaused)
      try await origin.wait(for: "/c") { $0.stalled == 1 }
    }
    let attributes = try FileManager.default.attributesOfItem(
      atPath: file.path(percentEncoded: false))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    try await run(origin) { test, page in
      try await eventually("the others are complete") {
        states(page) == ["/a": .done, "/b": .paused, "/c": .done]
      }
      #expect(try await test.cache.entry(for: test.key("/a"))?.isPinned == true)
    }
    await origin.stop()
  }

  @Test func `A damaged file is ignored with a warning`() async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    try await write(#"{"downloads": [{"url": "https://exam"#, origin)
    try await run(origin) { test, page in
      #expect(page.downloads.items.isEmpty)
      try await eventually("the warning is shown") {
        page.problems.after(0).contains { $0.text.contains("downloads.json") }
      }
    }
    await origin.stop()
  }

  @Test func `Fields of another version are ignored, and hosts are checked again`() async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    serve(["/a"], on: origin)
    try await write(
      """
      {"version": 9, "color": "blue", "downloads": [
        {"url": "\(origin.url("/a").absoluteString)", "state": "paused", "speed": {"most": 5}},
        {"url": "https://other.invalid/b", "state": "waiting"},
        {"url": "file:///etc/passwd", "state": "paused"}]}
      """, origin)
    try await run(origin, hosts: ["127.0.0.1:\(origin.port)"]) { _, page in
      #expect(states(page) == ["/a": .paused, "/b": .failed])
      #expect(page.downloads.items.last?.error == "Requests to other.invalid are not allowed.")
    }
    await origin.stop()
  }

  @Test func `A second proxy takes the queue over when the first one drains, not before`()
    async throws
  {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    serve(["/a", "/b", "/own"], on: origin)
    try await run(origin) { old, oldPage in
      for path in ["/a", "/b"] {
        let url = origin.url(path).absoluteString
        oldPage.downloads.change { _ = $0.add(url, isPinned: false) }
      }
      for path in ["/a", "/b"] { try await origin.wait(for: path) { $0.stalled == 1 } }
      try await run(origin) { _, page in
        let url = origin.url("/own").absoluteString
        page.downloads.change { queue in
          let own = queue.add(url, isPinned: false)
          _ = queue.pause(own?.id ?? 0)
        }
        await page.saveIfDue()
        #expect(states(page) == ["/own": .paused])
        old.proxy.beginDraining()
        try await eventually("the new proxy has the queue") {
          await page.saveIfDue()
          return page.downloads.items.count == 3
        }
        #expect(states(page)["/own"] == .paused)
        let refused = try await old.change(
          #"{"action":"add","url":"\#(origin.url("/c").absoluteString)"}"#)
        #expect(refused.status == 503 && refused.refusal?.isEmpty == false)
      }
    }
    await origin.stop()
  }

  @Test func `A download that is removed does not come back`() async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    serve(["/a"], on: origin)
    try await run(origin) { _, page in
      let url = origin.url("/a").absoluteString
      page.downloads.change { _ = $0.add(url, isPinned: false) }
      await page.saveIfDue()
      #expect(FileManager.default.fileExists(atPath: file.path(percentEncoded: false)))
      let id = try #require(page.downloads.items.first?.id)
      let isRemoved = page.downloads.change { $0.remove(id) }
      #expect(isRemoved)
    }
    try await run(origin) { _, page in #expect(page.downloads.items.isEmpty) }
    await origin.stop()
  }
}
