// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check what is stored against its files, and drop what is not there.",
    discussion: """
      What a record claims and its file does not hold is dropped from the record, so that it is \
      fetched again when it is needed. Exit code 1 says that something was wrong; a second run \
      then finds it in order.

      Without --deep no request is made, and bytes that changed on disk are not noticed: no \
      checksums are kept. --deep asks the origins for every stored byte again and compares, which \
      costs as much as fetching it all. It says which entries could not be compared: those whose \
      origin is not reached, or has another version by now.

      Examples:
        refrain verify
        refrain verify --deep https://example.org/song.flac
        refrain verify https://example.org/song.flac
      """)

  @Argument(help: "The URL to check; everything, where there is none.", transform: URL.argument)
  var url: URL?

  @Flag(help: "Compare every stored byte with the origin's, which costs as much as fetching it.")
  var deep = false

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    guard !deep || !options.offline else {
      throw ValidationError("--deep asks the origins: leave out --offline.")
    }
  }

  func run() async throws {
    let (url, deep, options) = (url, deep, options)
    try await withExistingCache(options) { cache in
      let key = url.flatMap { url in cache.map { $0.key(for: options.resource(url)) } }
      let display = CountDisplay(verb: "Checked")
      var results =
        try await cache?.verify(key) { display.note($0) }.map(VerifyReport.init) ?? []
      Console.shared.clear()
      if deep, let cache { try await DeepVerification(cache, options).run(&results) }
      if let url, results.isEmpty { throw MediaCacheError.nothingStored(of: url) }
      let wrong = results.filter { !$0.problems.isEmpty }
      if options.json {
        try Console.shared.print(JSONText.line(results))
      } else {
        try Console.shared.print(lines: results.flatMap(\.lines))
      }
      guard wrong.isEmpty else {
        let dropped = ByteSize.text(wrong.reduce(0) { $0 + $1.droppedBytes })
        throw MediaCacheError(
          .storage, "\(wrong.count) of \(results.count) entries had something wrong with them.",
          remedy: "\(dropped) will be fetched again when needed; 'refrain get' does it now.")
      }
      if !options.json {
        let count = results.count == 1 ? "1 entry" : "\(results.count) entries"
        let unknown = results.count { $0.notCompared != nil }
        try Console.shared.print(
          unknown == 0
            ? "\(count), all in order."
            : "\(count), nothing wrong was found; \(unknown) could not be compared.")
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
  /// With `--deep`: stored bytes that were compared with the origin's.
  var comparedBytes: Int64?
  /// With `--deep`: why not all of them were compared.
  var notCompared: String?

  /// The lines for people.
  var lines: [String] {
    let name = key ?? directory
    return (problems + (notCompared.map { ["not compared: \($0)"] } ?? []))
      .map { printable("\(name): \($0)") }
  }

  init(_ result: MediaCache.VerifyResult) {
    key = result.key?.rawValue
    directory = result.directory.path(percentEncoded: false)
    problems = result.problems
    droppedBytes = result.droppedBytes
  }
}
