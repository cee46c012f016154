// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The stored state of a proxy between runs: its token, and how it was last reached.
struct ProxyRecord: Sendable, Hashable, Codable {
  var token: String
  var address = ListenAddress.standardHost
  var port = ListenAddress.standardPort
  /// The one origin of a reverse proxy; nil if URLs carry the token.
  var origin: URL?
  var names: [String] = []
  var allowedHosts: [String] = []

  /// Returns a record with an unguessable token: 192 random bits.
  static func new() -> ProxyRecord {
    var source = SystemRandomNumberGenerator()
    let bytes = (0..<24).map { _ in UInt8.random(in: .min ... .max, using: &source) }
    let token = Data(bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_")
    return ProxyRecord(token: token)
  }

  /// Returns nil if the bytes are not a record: no JSON, a token that could be guessed, no valid
  /// port.
  init?(decoding bytes: Data) {
    guard let record = try? JSONDecoder().decode(Self.self, from: bytes),
      record.token.utf8.count >= 16, record.token.utf8.allSatisfy(\.isUnreserved),
      (1..<65536).contains(record.port), !record.address.isEmpty
    else { return nil }
    self = record
  }

  init(token: String) { self.token = token }

  func encoded() throws -> Data { Data((try JSONText.line(self) + "\n").utf8) }
}
