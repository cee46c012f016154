// SPDX-License-Identifier: MIT
import Foundation
import Testing

extension TestProxy {
  /// Requests a target of the proxy, and follows its redirects.
  func follow(
    _ target: String, _ headers: [String] = []
  ) async throws -> (Reply, target: String) {
    var target = target
    for _ in 0..<5 {
      let current = target
      let reply = try await connect {
        try await $0.reply(to: current, headers, method: "GET", host: self.host)
      }
      guard reply.status == 302, let location = reply["Location"] else { return (reply, target) }
      target = location
    }
    throw CancellationError()
  }

  /// Returns the target of the reference that ends with a name, in the playlist at a target.
  func reference(_ reply: Reply, to name: String, at target: String) throws -> String {
    let line = try #require(reply.text.split(separator: "\n").first { $0.hasSuffix(name) })
    let base = try #require(URL(string: "http://h" + target))
    let url = try #require(URL(string: String(line), relativeTo: base)?.absoluteString)
    return String(url.dropFirst("http://h".count))
  }
}
