// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The session that begins with a request for a manifest.
extension Exchange {
  /// Notices that another process has removed the session that this request would continue.
  func noticeRemoval() async {
    guard session == nil, service.sessions.begun(with: inherited, for: url) != nil else { return }
    await service.sessions.refresh()
  }

  /// Receives the cookies of the origin's responses; nil: they are not stored.
  var observer: ResponseObserver? {
    guard service.rules.origin == nil else { return nil }
    return session?.observer ?? service.cache.cookieObserver(of: beginning)
  }

  /// Returns the session in which a manifest's children are requested; nil if they need nothing of
  /// this exchange.
  ///
  /// - Parameter variables: those of the manifest, which its children may import.
  func session(defining variables: [String: String] = [:]) -> StreamSession? {
    guard service.rules.origin == nil else { return nil }
    let (sessions, inherited) = (service.sessions, inherited)
    let cookies = service.cache.cookies(of: beginning)
    guard
      !variables.isEmpty || !inherited.isEmpty || service.originFields.distinguishesHosts
        || !cookies.all(at: service.cache.now.wall).isEmpty
        || sessions.begun(with: inherited, for: url) != nil
    else { return nil }
    let session = sessions.begin(with: inherited, for: url, cookies)
    session.define(variables)
    return session
  }

  private var beginning: Resource { Resource(url: url, headers: inherited) }

  /// The fields of the request that grant access. A player may send them for the manifest alone.
  private var inherited: HeaderFields { fields.grantingAccess }
}
