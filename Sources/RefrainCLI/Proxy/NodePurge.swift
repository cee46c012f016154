// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Has running proxies purge: all at once, each with one request.
struct NodePurge: Sendable {
  /// The body of the request.
  struct Order: Sendable, Hashable, Encodable {
    /// URLs, and paths with their queries.
    var urls: [String]
    var prefixes: [String]
    var everything: Bool
  }

  /// What one node did.
  struct Outcome: Sendable, Hashable, Encodable {
    /// The URL of the node.
    var url: String
    /// The name of the node; nil if it did not purge.
    var node: String?
    var entries: Int?
    var freedBytes: Int64?
    /// Why it did not purge; nil if it did.
    var error: String?

    var text: String {
      guard let node, let entries, let freedBytes else {
        return printable("\(url): \(error ?? "It did not answer.")")
      }
      let count = entries == 1 ? "1 entry" : "\(entries) entries"
      let freed = freedBytes > 0 ? ", \(ByteSize.text(freedBytes)) freed" : ""
      return printable("\(url) (\(node)): \(count) purged\(freed).")
    }
  }

  private struct Report: Decodable {
    var node: String
    var entries: Int
    var freedBytes: Int64
  }

  /// A node may have to read the records of a large cache.
  private static let longestSilence = Duration.seconds(600)
  private static let longestReply = 64 << 10

  let order: Order
  var transport: any RelayingTransport = MediaCache.platformTransport()

  /// Returns the outcomes in the order of the nodes.
  func run(_ nodes: [URL]) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
      for (index, node) in nodes.enumerated() {
        group.addTask { (index, try await run(node)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// - Throws: `CancellationError`.
  private func run(_ node: URL) async throws -> Outcome {
    var outcome = Outcome(url: node.withoutUserInfo.absoluteString)
    do {
      let response = try await send(to: node)
      let body = try await Self.body(of: response)
      if response.status == 200 {
        let report = try JSONDecoder().decode(Report.self, from: body)
        outcome.node = report.node
        outcome.entries = report.entries
        outcome.freedBytes = report.freedBytes
      } else {
        outcome.error = Self.error(response, body)
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch let error as TransportError {
      outcome.error = error.reason
    } catch is DecodingError {
      outcome.error = "The answer is not that of a node. Give the URL of its --admin listener."
    }
    return outcome
  }

  /// Returns why a node did not purge: in its own words, which are plain text.
  private static func error(_ response: OriginResponse, _ body: Data) -> String {
    let isText = response.headers["Content-Type"]?.hasPrefix("text/plain") == true
    let words = isText ? String(decoding: body, as: UTF8.self).split(separator: "\n").first : nil
    return "The answer was \(response.status)\(words.map { ": \($0)" } ?? ".")"
  }

  private func send(to node: URL) async throws -> OriginResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let document = try encoder.encode(order)
    var request = OriginRequest(
      relaying: "POST", url: node.appending(path: "purge"),
      headers: ["Content-Type": "application/json"],
      body: OriginRequest.Body(length: Int64(document.count)) { document })
    request.longestSilence = Self.longestSilence
    return try await transport.send(request)
  }

  private static func body(of response: OriginResponse) async throws -> Data {
    var body = Data()
    for try await part in response.body {
      body += part
      guard body.count <= longestReply else { break }
    }
    return body
  }
}

extension NodePurge {
  /// Purges, and prints a line for each node.
  ///
  /// - Throws: `ProgramError` if a node did not purge.
  func runPrinting(_ nodes: [URL], asJSON isJSON: Bool) async throws {
    let outcomes = try await run(nodes)
    if isJSON {
      try Console.shared.print(JSONText.line(outcomes))
    } else {
      for outcome in outcomes where outcome.error == nil { try Console.shared.print(outcome.text) }
    }
    let failed = outcomes.filter { $0.error != nil }
    guard !failed.isEmpty else { return }
    throw ProgramError(
      "\(failed.count) of \(nodes.count) nodes did not purge. "
        + failed.map(\.text).joined(separator: " "),
      remedy: "Give the URLs of --admin listeners, and repeat the command once that is repaired: a "
        + "purge may be repeated.")
  }
}
