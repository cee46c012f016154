// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The session that begins with a request for a manifest.
extension Exchange {
  /// Notices that another process has removed the session that this request would continue.
  func noticeRemoval() async {
    guard session == nil, service.configuration.origin == nil,
      service.sessions.begun(with: inherited, for: url) != nil
    else { return }
    await service.sessions.noticeRemoval()
  }

  /// Receives the cookies of the origin's responses; nil: they are not stored.
  var observer: ResponseObserver? {
    guard service.configuration.origin == nil else { return nil }
    if let session { return session.observer }
    if inherited.isEmpty { return service.sessions.observer }
    // Cookies for one account must not reach another one. Most other resources begin no stream.
    guard Manifest.isNamed(mimeType: nil, url: url) else {
      return service.sessions.observer(of: inherited, for: url)
    }
    return service.sessions.begin(with: inherited, for: url).observer
  }

  /// Returns the session in which a manifest's children are requested; nil if they need nothing of
  /// this exchange.
  ///
  /// - Parameters:
  ///   - variables: those of the manifest, which its children may import.
  ///   - sources: the URLs whose responses may have set cookies.
  func session(defining variables: [String: String], for sources: [URL]) -> StreamSession? {
    guard service.configuration.origin == nil else { return nil }
    let (sessions, inherited) = (service.sessions, inherited)
    let beginnings = inherited.isEmpty ? Set(sources) : [url]
    let cookies = beginnings.flatMap { sessions.takeCookies(of: inherited, for: $0) }
    guard
      !variables.isEmpty || !inherited.isEmpty || !cookies.isEmpty
        || service.originFields.distinguishesHosts
        || sessions.begun(with: inherited, for: url) != nil
    else { return nil }
    let start = cookies.map(\.time).min { $0.seconds < $1.seconds }
    let session = sessions.begin(with: inherited, for: url, since: start)
    for cookie in cookies { session.store(cookies: cookie.fields, from: cookie.source) }
    session.define(variables)
    return session
  }

  /// The fields of the request that grant access. A player may send them for the manifest alone.
  var inherited: HeaderFields {
    HeaderFields(
      fields.fields.lazy.filter { ["authorization", "cookie"].contains($0.name.lowercased()) }
        .map { ($0.name, $0.value) })
  }
}
