// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// The ways of an origin that demands more of players than requests for a stream's files.
extension StreamFixture {
  static func isManifest(_ name: String) -> Bool {
    name.hasSuffix(".m3u8") || name.hasSuffix(".mpd")
  }

  /// Whether each request for the file receives another version of it.
  func changes(_ name: String) -> Bool { kind == .signed && Self.isManifest(name) }

  /// Returns the fields that the stream's kind adds to the responses for a file.
  func fields(of name: String) -> [Field] {
    guard kind == .cookies, name == kind.recipe.entry else { return [] }
    return [Field("Set-Cookie", "\(Self.pass); Path=/")]
  }

  /// Returns how the origin responds to requests for a file; nil: with the file.
  func script(of name: String) -> FaultScript? {
    switch (kind, Self.isManifest(name)) {
    case (.gzipped, true): FaultScript.on(.all, .gzip)
    case (.cookies, false): FaultScript.on(.where { !Self.hasPass($0) }, .status(403))
    case (.signed, true): signedLoads(of: name)
    default: nil
    }
  }

  private static let pass = "pass=granted"

  private static func hasPass(_ request: ReceivedRequest) -> Bool {
    request.headers.first("Cookie")?.contains(pass) ?? false
  }

  // MARK: Signatures

  /// More than the plays of a test.
  private static let mostLoads = 50

  /// Returns the versions of a playlist. The references of each have a signature of their own, with
  /// which the origin serves the same files.
  private func signedLoads(of name: String) -> FaultScript {
    let references = StreamReferences(
      playlist: String(decoding: files[name] ?? Data(), as: UTF8.self))
    var script = FaultScript()
    for load in 1...Self.mostLoads {
      let version = OriginResource(
        .bytes(references.appending(query: "hdnts=\(load)").utf8),
        contentType: Self.contentType(of: name), etag: "\"\(name)-\(load)\"",
        headers: [Field("Cache-Control", "max-age=0")])
      script = script.on(.number(load), .answerFrom(version))
    }
    return script
  }
}
