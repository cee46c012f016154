// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Three processes in one directory, through random operations: every byte is right, and the limit
/// holds whenever one of them, or this one, measures. As `SharedModelTests`, but the locks and the
/// count of the size pass between processes.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
struct SharingProcessesTests {
  @Test func `Processes that share a directory keep its limit and read no wrong byte`() async throws
  {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (processes that share a directory)")
    let root = TestCache.temporaryDirectory()
    let directory = root.appending(path: "cache", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    let origin = try await OriginServer.start()
    for (number, length) in SharedLoad.lengths.enumerated() {
      let resource = OriginResource.synthetic(seed: UInt64(number), length: length)
      origin.serve(resource, at: "/\(SharedLoad.name(number))")
    }
    let outputs = (0..<3).map { root.appending(path: "\($0).log") }
    let children = try outputs.enumerated().map { number, output in
      try LeashedProcess(
        URL(filePath: ChildProcess.path),
        [
          "share", directory.path(percentEncoded: false), origin.baseURL.absoluteString,
          String(seed &* 10 &+ UInt64(number)),
        ], in: root, output: output)
    }
    let path = directory.path(percentEncoded: false)
    var most: Int64 = 0
    while children.contains(where: \.isRunning) {
      let now = try await onThread { allocatedBytes(path, checking: SharedLoad.limit) }
      most = max(most, now)
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(most <= SharedLoad.limit, "seed \(seed)")
    for (child, output) in zip(children, outputs) {
      let text = try String(contentsOf: output, encoding: .utf8)
      print(text)
      #expect(try await child.exitStatus(within: .seconds(10)) == 0, "\(text)")
      // The number of completed operations.
      #expect(Int(text.prefix { $0.isNumber }) ?? 0 > 0, "\(text)")
    }
    await origin.stop()
    let left = allocatedBytes(path)
    #expect(left <= SharedLoad.limit, "seed \(seed)")
    // The limit was reached.
    #expect(left > SharedLoad.limit / 4, "seed \(seed)")
    for number in SharedLoad.lengths.indices {
      let stored = StoredBytes(directory, origin.url("/\(SharedLoad.name(number))"))
      let wrong = try stored.firstWrongByte(SyntheticBytes(seed: UInt64(number)))
      #expect(wrong == nil, "seed \(seed), \(number)")
    }
  }
}
