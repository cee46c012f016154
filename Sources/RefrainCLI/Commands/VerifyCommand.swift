// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check what is stored against its files, and drop what is not there.",
    discussion: """
      Makes no request. What a record claims and its file does not hold is dropped from the \
      record, so that it is fetched again when it is needed. Exit code 1 says that something was \
      wrong; a second run then finds it in order.

      Examples:
        refrain verify
        refrain verify https://example.org/song.flac
      """)

  @Argument(help: "The URL to check; everything, where there is none.", transform: URL.argument)
  var url: URL?

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (url, options) = (url, options)
    try await withCache(options) { cache in
      let key = url.map { cache.key(for: options.resource($0)) }
      let results = try await cache.verify(key)
      if let url, results.isEmpty { throw MediaCacheError.nothingStored(of: url) }
      let wrong = results.filter { !$0.problems.isEmpty }
      if options.json {
        try Console.shared.print(JSONText.line(results.map(VerifyReport.init)))
      } else {
        for line in wrong.flatMap(Self.lines) { try Console.shared.print(line) }
      }
      guard wrong.isEmpty else {
        let dropped = ByteSize.text(wrong.reduce(0) { $0 + $1.droppedBytes })
        throw MediaCacheError(
          .storage, "\(wrong.count) of \(results.count) entries had something wrong with them.",
          remedy: "\(dropped) will be fetched again when needed; 'refrain get' does it now.")
      }
      if !options.json {
        let count = results.count == 1 ? "1 entry" : "\(results.count) entries"
        try Console.shared.print("\(count), all in order.")
      }
    }
  }

  private static func lines(_ result: MediaCache.VerifyResult) -> [String] {
    let name = result.key?.rawValue ?? result.directory.path(percentEncoded: false)
    return result.problems.map { printable("\(name): \($0)") }
  }
}

private struct VerifyReport: Encodable {
  var key: String?
  var directory: String
  var problems: [String]
  var droppedBytes: Int64

  init(_ result: MediaCache.VerifyResult) {
    key = result.key?.rawValue
    directory = result.directory.path(percentEncoded: false)
    problems = result.problems
    droppedBytes = result.droppedBytes
  }
}
