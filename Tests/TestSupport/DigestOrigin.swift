// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// An origin that requires Digest authentication (RFC 7616, MD5) by the user `anna` with the
/// password `secret`, and serves one body, with ranges, under every path.
package final class DigestOrigin: Sendable {
  /// A request, and how it was answered.
  package struct Seen: Sendable, Equatable {
    package var method: String
    package var target: String
    /// Nil without Authorization.
    package var scheme: String?
    package var status: Int
  }

  package struct Rules: Sendable {
    /// Whether the challenge has `qop=auth`.
    package var hasQuality = true
    /// The requests after which a nonce has expired.
    package var usesOfNonce = Int.max
    /// Before the Digest challenge.
    package var otherChallenge: String?
    package var fields = "ETag: \"1\"\r\nCache-Control: max-age=600\r\n"

    package init() {}
  }

  private struct State {
    var seen: [Seen] = []
    var nonce = 1
    var uses = 0
  }

  package let body: [UInt8]
  private let rules: Rules
  private let state = Mutex(State())
  private let listening = Mutex<RawServer?>(nil)

  package init(
    body: [UInt8] = Array("a song".utf8), _ change: (inout Rules) -> Void = { _ in }
  ) throws {
    self.body = body
    var rules = Rules()
    change(&rules)
    self.rules = rules
    let server = try RawServer { [weak self] connection in
      while true {
        let request = connection.readRequest()
        guard request.hasSuffix("\r\n\r\n"), let self else { return }
        connection.send(answer(request, on: connection))
      }
    }
    listening.withLock { $0 = server }
  }

  package var port: UInt16 { listening.withLock { $0?.port ?? 0 } }

  package var requests: [Seen] { state.withLock { $0.seen } }

  /// Returns a URL with the user and the password.
  package func url(_ path: String, user: String? = "anna:secret") throws -> URL {
    let text = "http://\(user.map { $0 + "@" } ?? "")127.0.0.1:\(port)\(path)"
    guard let url = URL(string: text) else { throw POSIXError(.EINVAL) }
    return url
  }

  package func stop() { listening.withLock { $0.take() }?.stop() }

  private func answer(_ request: String, on connection: RawServer.Connection) -> [UInt8] {
    let lines = request.components(separatedBy: "\r\n")
    let words = lines[0].components(separatedBy: " ")
    func field(_ name: String) -> String? {
      lines.first { $0.lowercased().hasPrefix(name + ":") }?.dropFirst(name.count + 1)
        .trimmingCharacters(in: .whitespaces)
    }
    let length = field("content-length").flatMap { Int($0) } ?? 0
    if length > 0 { _ = connection.read(length) }
    let authorization = field("authorization")
    return state.withLock { state in
      let challenge = refusal(authorization, words[0], words[1], &state)
      let (status, head, body) =
        challenge.map { (401, $0, Array("no".utf8)) } ?? content(of: field("range"))
      state.seen.append(
        Seen(
          method: words[0], target: words[1],
          scheme: authorization?.components(separatedBy: " ").first, status: status))
      let text = "HTTP/1.1 \(status) X\r\n\(head)Content-Length: \(body.count)\r\n\r\n"
      return Array(text.utf8) + (words[0] == "HEAD" ? [] : body)
    }
  }

  /// Returns the fields of a 401; nil if the request is authorized.
  private func refusal(
    _ authorization: String?, _ method: String, _ target: String, _ state: inout State
  ) -> String? {
    var isStale = false
    if let authorization, authorization.hasPrefix("Digest ") {
      let values = Self.values(authorization.dropFirst(7))
      let isCurrent = values["nonce"] == "nonce\(state.nonce)"
      let secrets = [MD5.hash("anna:cam:secret"), MD5.hash("\(method):\(target)")]
      let middle =
        rules.hasQuality
        ? ["nc", "cnonce", "qop"].map { values[$0] ?? "" } : []
      let response = MD5.hash(
        ([secrets[0], values["nonce"] ?? ""] + middle + [secrets[1]]).joined(separator: ":"))
      let isRight =
        values["response"] == response && values["uri"] == target && values["username"] == "anna"
      if isRight, isCurrent, state.uses < rules.usesOfNonce {
        state.uses += 1
        return nil
      }
      isStale = isRight
      if isCurrent, isRight { (state.nonce, state.uses) = (state.nonce + 1, 0) }
    }
    var challenge = "Digest realm=\"cam\", nonce=\"nonce\(state.nonce)\""
    if rules.hasQuality { challenge += ", qop=\"auth\", algorithm=MD5" }
    if isStale { challenge += ", stale=true" }
    return (rules.otherChallenge.map { "WWW-Authenticate: \($0)\r\n" } ?? "")
      + "WWW-Authenticate: \(challenge)\r\n"
  }

  private static func values(_ text: Substring) -> [String: String] {
    var values: [String: String] = [:]
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { continue }
      values[pair[0].trimmingCharacters(in: .whitespaces)] = pair[1].trimmingCharacters(
        in: .whitespaces.union(["\""]))
    }
    return values
  }

  private func content(of range: String?) -> (Int, String, [UInt8]) {
    let ends = range?.dropFirst("bytes=".count).split(
      separator: "-", omittingEmptySubsequences: false)
    guard let ends, let first = ends.first.flatMap({ Int($0) }), first < body.count else {
      return (200, rules.fields, body)
    }
    let last = min(ends.last.flatMap { Int($0) } ?? .max, body.count - 1)
    let field = "Content-Range: bytes \(first)-\(last)/\(body.count)\r\n"
    return (206, rules.fields + field, Array(body[first...last]))
  }
}
