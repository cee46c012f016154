// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

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
