// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Cookies of responses that may be the beginning of a stream, until its session begins.
final class UnclaimedCookies: Sendable {
  struct Response: Sendable {
    /// The URL that responded.
    var source: URL
    /// The `Set-Cookie` fields.
    var fields: [String]
    var time: Uptime
  }

  private static let capacity = 256
  /// More redirects are not followed.
  private static let mostResponses = 20

  private let responses = Mutex<[StreamSessions.Beginning: [Response]]>([:])

  /// Keeps the cookies of a response that is a manifest, or may lead to one.
  func note(
    _ headers: HeaderFields, from source: URL, for beginning: StreamSessions.Beginning,
    at time: Uptime
  ) {
    let fields = headers.values(of: "Set-Cookie")
    guard !fields.isEmpty, Self.mayBeManifest(headers, source) else { return }
    responses.withLock { responses in
      if responses.count >= Self.capacity, responses[beginning] == nil { responses = [:] }
      var known = responses[beginning] ?? []
      // A redirect may lead back to the same URL, whose next response sets other cookies.
      known.removeAll { $0.source == source && $0.fields == fields }
      known.append(Response(source: source, fields: fields, time: time))
      responses[beginning] = known.suffix(Self.mostResponses)
    }
  }

  func take(_ beginning: StreamSessions.Beginning) -> [Response] {
    responses.withLock { $0.removeValue(forKey: beginning) ?? [] }
  }

  private static func mayBeManifest(_ headers: HeaderFields, _ url: URL) -> Bool {
    if headers["Location"] != nil { return true }
    // A response that confirms what is stored need not state the type again.
    guard let value = headers["Content-Type"] else { return true }
    let type = value.prefix { $0 != ";" }.trimmingOWS.lowercased()
    // The bytes may show later that it is one.
    let length = headers.bodyLength
    return Manifest.isNamed(mimeType: type, url: url)
      || Manifest.mayBeUnnamed(mimeType: type, length: length)
  }
}
