// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

struct RemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Remove stored URLs, or everything.",
    discussion: """
      The URL of a stream's first playlist or manifest removes the whole stream; that of a single \
      part removes only the part. Entries that another process is writing are not removed. Pinned \
      ones are. The position at which a URL was left is forgotten; --all also forgets the \
      positions of files, and the last queue of 'play'.

      With --node the caches of running proxies are purged instead, through their --admin \
      listeners: the responses to exactly these URLs of the origin, or with --prefix all whose \
      URLs begin so. A path alone stands for a URL of the origin. Responses that are arriving at \
      that moment are not used for later requests.

      Examples:
        refrain rm https://example.org/song.flac
        refrain rm https://example.org/film/main.m3u8
        refrain rm --all
        refrain rm --node http://10.0.0.11:8574 --node http://10.0.0.12:8574 /a.flac
        refrain rm --node http://10.0.0.11:8574 --prefix /album/
      """)

  @Argument(
    help: ArgumentHelp(
      "The URLs as they were played or fetched; with --node, also paths.", valueName: "url"),
    transform: { text in try usage { try RemovalArgument.parse(text) } })
  var named: [RemovalArgument] = []

  @Flag(help: "Remove everything.")
  var all = false

  @OptionGroup(title: "Options for running proxies")
  var purge: NodePurgeOptions

  @OptionGroup
  var options: GlobalOptions

  func validate() throws {
    try purge.validate(named, isAll: all)
  }

  func run() async throws {
    let (urls, options) = (named.compactMap(\.url), options)
    guard purge.nodes.isEmpty else {
      let (nodes, order) = (purge.nodes, purge.order(named, isAll: all))
      return try await endingOnSignals {
        try await NodePurge(order: order).runPrinting(nodes, asJSON: options.json)
      }
    }
    try await withExistingCache(options) { cache in
      if urls.isEmpty {
        let display = CountDisplay(verb: "Removed")
        let freed = try await cache?.removeAll { display.note($0) } ?? 0
        Console.shared.clear()
        return try Console.shared.print(
          options.json
            ? JSONText.line(["freedBytes": freed]) : "Freed \(ByteSize.text(freed)).")
      }
      var removed: [Removed] = []
      var missing: [URL] = []
      for url in urls {
        let display = CountDisplay(verb: "Removed")
        let stream: MediaCache.RemovedGroup? =
          if let cache {
            try await cache.remove(stream: cache.key(for: options.resource(url))) {
              display.note($0)
            }
          } else {
            nil
          }
        // Also of what is no longer stored.
        if let cache {
          try await PlaybackPositions.remove(
            cache.key(for: options.resource(url)), from: cache)
        }
        if let stream {
          removed.append(Removed(stream, url: url))
        } else {
          missing.append(url)
        }
        Console.shared.clear()
      }
      if options.json {
        try Console.shared.print(JSONText.line(removed))
      } else {
        for one in removed { try Console.shared.print(one.text) }
      }
      if let first = missing.first { throw ProgramError.nothingStored(of: first) }
    }
  }

  struct Removed: Encodable {
    var url: String
    var freedBytes: Int64
    /// The number of removed parts of a stream; absent for another resource.
    var parts: Int?

    init(_ stream: MediaCache.RemovedGroup, url: URL) {
      self.url = url.withoutUserInfo.absoluteString
      freedBytes = stream.freedBytes
      parts = stream.parts > 0 ? stream.parts : nil
    }

    var text: String {
      let count = parts.map { " (\(EntryReport.partsText($0)))" } ?? ""
      return "Freed \(ByteSize.text(freedBytes)) of \(url)\(count)."
    }
  }
}

/// The options of `rm` for the caches of running proxies.
struct NodePurgeOptions: ParsableArguments {
  @Option(
    name: .customLong("node"),
    help: ArgumentHelp(
      """
      Remove from the cache of this running proxy instead, given the URL of its --admin listener, \
      as in http://10.0.0.11:8574; may be given several times.
      """, valueName: "url"),
    transform: URL.argument)
  var nodes: [URL] = []

  @Flag(help: "With --node: remove everything whose URL begins with one of these URLs or paths.")
  var prefix = false

  /// - Parameter isAll: whether everything is removed.
  func validate(_ named: [RemovalArgument], isAll: Bool) throws {
    guard !nodes.isEmpty else {
      guard !prefix else { throw ValidationError("--prefix needs --node.") }
      guard named.isEmpty == isAll else {
        throw ValidationError("Name the URLs to remove, or use --all.")
      }
      guard named.allSatisfy({ $0.url != nil }) else {
        throw ValidationError(
          "A complete URL is required, as in https://example.org/song.flac. A path alone needs "
            + "--node.")
      }
      return
    }
    guard named.isEmpty == isAll else {
      throw ValidationError("Name the URLs or paths to remove, or use --all.")
    }
    guard !prefix || !named.isEmpty else {
      throw ValidationError("--prefix needs the beginnings of URLs or paths.")
    }
    for node in nodes where node.query() != nil {
      throw ValidationError("\(node) is not the URL of a node: it has a query.")
    }
  }

  func order(_ named: [RemovalArgument], isAll: Bool) -> NodePurge.Order {
    let texts = named.map(\.text)
    return NodePurge.Order(
      urls: prefix ? [] : texts, prefixes: prefix ? texts : [], everything: isAll)
  }
}

/// An argument of `rm`: a URL, or the path of a resource of a running proxy.
enum RemovalArgument: Sendable, Hashable {
  case url(URL)
  /// A path with its query, as clients of the proxy request it.
  case path(String)

  /// Reads a path if the text begins with a slash, else an http or https URL. Percent-encoding is
  /// unchanged, and characters that a URL cannot contain are encoded once.
  static func parse(_ text: String) throws -> RemovalArgument {
    guard text.utf8.first == UInt8(ascii: "/") else { return .url(try URLArgument.parse(text)) }
    // A path is spelled as in a URL, whatever the host.
    guard let url = URL(text: "http://localhost" + text), let parts = WebURL(url.absoluteString)
    else { throw InvalidArgument("the path is not valid") }
    return .path(parts.requestTarget)
  }

  /// The URL; nil for a path.
  var url: URL? {
    switch self {
    case .url(let url): url
    case .path: nil
    }
  }

  /// The text for a running proxy, which knows no credentials of URLs.
  var text: String {
    switch self {
    case .url(let url): url.withoutUserInfo.absoluteString
    case .path(let path): path
    }
  }
}
