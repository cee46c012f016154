// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Has running proxies purge: all at once, each with one request.
struct NodePurge: Sendable {
  /// The body of the request.
  struct Order: Sendable, Hashable, Encodable {
    /// URLs, and paths with their queries.
    var urls: [String]
    var prefixes: [String]
    var tags: [String]
    var everything: Bool
    var soft: Bool
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

  private struct Problem: Decodable {
    var detail: String
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
      let (status, body) = try await send(to: node)
      if status == 200 {
        let report = try JSONDecoder().decode(Report.self, from: body)
        outcome.node = report.node
        outcome.entries = report.entries
        outcome.freedBytes = report.freedBytes
      } else if let problem = try? JSONDecoder().decode(Problem.self, from: body) {
        outcome.error = problem.detail
      } else {
        // An answer without details is none of a node's.
        outcome.error =
          "The answer was \(status). Give the URL of the node's --admin listener."
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

  private func send(to node: URL) async throws -> (status: Int, body: Data) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let document = try encoder.encode(order)
    let rest = Once(document)
    // Without Accept: the operator's listener responds in JSON all the same, and that of clients, to
    // which this may lead by mistake, does not.
    var request = RelayedRequest(
      method: "POST", url: node.appending(path: "purge"),
      headers: ["Content-Type": "application/json"],
      body: RelayedRequest.Body(length: Int64(document.count)) { rest.take() })
    request.longestSilence = Self.longestSilence
    let response = try await transport.relay(request)
    var body = Data()
    for try await part in response.body {
      body += part
      guard body.count <= Self.longestReply else { break }
    }
    return (response.status, body)
  }

  /// A body of one part.
  private final class Once: Sendable {
    private let part: Mutex<Data?>

    init(_ part: Data) { self.part = Mutex(part) }

    func take() -> Data? { part.withLock { $0.take() } }
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
      remedy: "Repeat the command once that is repaired: a purge may be repeated.")
  }
}
