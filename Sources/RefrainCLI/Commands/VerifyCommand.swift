// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check the stored records against their files, and drop missing bytes.",
    discussion: """
      Bytes that a record lists but its file does not contain are dropped from the record, and \
      fetched again when needed. Exit code 1 means that problems were found; a second run then \
      finds none.

      No request is made, and bytes that changed on disk are not detected: no checksums are stored.

      Examples:
        refrain verify
        refrain verify https://example.org/song.flac
      """)

  @Argument(help: "The URL to check. Default: everything.", transform: URL.argument)
  var url: URL?

  @OptionGroup
  var options: GlobalOptions

  func run() async throws {
    let (url, options) = (url, options)
    try await withExistingCache(options) { cache in
      let key = url.flatMap { cache?.key(for: options.resource($0)) }
      let display = CountDisplay(verb: "Checked")
      let results =
        try await cache?.verify(key) { display.note($0) }.map(VerifyReport.init) ?? []
      Console.shared.clear()
      if let url, results.isEmpty { throw ProgramError.nothingStored(of: url) }
      let wrong = results.filter { !$0.problems.isEmpty }
      if options.json {
        try Console.shared.print(JSONText.line(results))
      } else {
        try Console.shared.print(lines: results.flatMap(\.lines))
      }
      guard wrong.isEmpty else {
        let dropped = ByteSize.text(wrong.reduce(0) { $0 + $1.droppedBytes })
        throw MediaCacheError(
          .storage, "\(wrong.count) of \(results.count) entries had problems.",
          remedy: "\(dropped) will be fetched again when needed; 'refrain get' fetches them now.")
      }
      if !options.json {
        let count = results.count == 1 ? "1 entry" : "\(results.count) entries"
        try Console.shared.print("\(count), all in order.")
      }
    }
  }
}

/// The result of checking one entry.
struct VerifyReport: Encodable {
  var key: String?
  var directory: String
  var problems: [String]
  var droppedBytes: Int64

  /// The lines for people.
  var lines: [String] {
    let name = key ?? directory
    return problems.map { printable("\(name): \($0)") }
  }

  init(_ result: MediaCache.VerifyResult) {
    key = result.key?.rawValue
    directory = result.directory.path(percentEncoded: false)
    problems = result.problems
    droppedBytes = result.droppedBytes
  }
}
