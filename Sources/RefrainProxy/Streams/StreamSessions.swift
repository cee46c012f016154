// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The sessions of a proxy's streams, by their identifiers, in memory: they contain secrets.
///
/// A stream that begins again with the same URL and headers continues its session. An unknown
/// identifier, as after a restart, is a request without a session; the stream's next playlist then
/// begins a new one if it needs one.
final class StreamSessions: Sendable {
  private static let capacity = 1024

  private struct Beginning: Hashable {
    var url: URL
    var headers: HeaderFields
  }

  private struct State {
    var sessions: [String: StreamSession] = [:]
    var begun: [Beginning: StreamSession] = [:]
    /// The least recently begun first.
    var order: [Beginning] = []
  }

  private let state = Mutex(State())
  private let unclaimed = UnclaimedCookies()
  /// Collects the cookies of manifests' responses to requests without a session and without
  /// credentials.
  let observer: ResponseObserver

  init() {
    let unclaimed = unclaimed
    observer = ResponseObserver { url, headers in
      let type = headers["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
      let isNamed = Manifest.isNamed(mimeType: type.map { String($0) }, url: url)
      // A redirect may lead to one.
      guard isNamed || headers["Location"] != nil else { return }
      unclaimed.note(headers.values(of: "Set-Cookie"), from: url)
    }
  }

  /// Returns the session of a stream that began at this URL with these headers; nil if there is none.
  func begun(with headers: HeaderFields, for url: URL) -> StreamSession? {
    state.withLock { $0.begun[Beginning(url: url, headers: headers)] }
  }

  func session(_ id: String) -> StreamSession? { state.withLock { $0.sessions[id] } }

  /// Returns the session of a stream that begins at this URL with these headers.
  func begin(with headers: HeaderFields, for url: URL) -> StreamSession {
    let beginning = Beginning(url: url, headers: headers)
    return state.withLock { state in
      if let known = state.begun[beginning] { return known }
      let session = StreamSession(id: TokenCheck.random(), headers: headers, for: url)
      state.sessions[session.id] = session
      state.begun[beginning] = session
      state.order.append(beginning)
      if state.order.count > Self.capacity,
        let oldest = state.begun.removeValue(forKey: state.order.removeFirst())
      {
        state.sessions[oldest.id] = nil
      }
      return session
    }
  }

  /// Returns and forgets the cookies of the last response to a request without a session.
  func takeCookies(from url: URL) -> [String] { unclaimed.take(url) }
}

/// Cookies of responses that may be the beginning of a stream.
private final class UnclaimedCookies: Sendable {
  private static let capacity = 256

  private let cookies = Mutex<[URL: [String]]>([:])

  func note(_ fields: [String], from url: URL) {
    guard !fields.isEmpty else { return }
    cookies.withLock { cookies in
      if cookies.count >= Self.capacity { cookies = [:] }
      cookies[url] = fields
    }
  }

  func take(_ url: URL) -> [String] { cookies.withLock { $0.removeValue(forKey: url) } ?? [] }
}
