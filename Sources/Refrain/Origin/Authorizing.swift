// SPDX-License-Identifier: MIT
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension GroupRenewals {
  /// Returns the user's hook, with its errors as those of requests: throws `MediaCacheError` and
  /// `CancellationError` only.
  static func checked(_ hook: @escaping Hook) -> Hook {
    { refused, status in
      do {
        return try await hook(refused, status)
      } catch let error as MediaCacheError {
        throw error
      } catch let error as CancellationError {
        throw error
      } catch {
        // A cancelled hook fails with an error of its own, such as `URLError.cancelled`.
        if Task.isCancelled { throw CancellationError() }
        throw MediaCacheError(authorizationFailed: error, status: status)
      }
    }
  }
}

extension MediaCacheError {
  /// - Parameters:
  ///   - cause: an error of the user's hook. An error of the network is no refusal: the request may
  ///     be tried again.
  ///   - status: the origin's response.
  fileprivate init(authorizationFailed cause: any Error, status: Int) {
    let what = "The origin answered \(status), and the authorization failed: \(cause)."
    if Self.isOfNetwork(cause) {
      self.init(.unreachable, what, remedy: "Check the network.")
    } else {
      self.init(.status, what, status: status)
    }
  }

  private static func isOfNetwork(_ error: any Error) -> Bool {
    if let error = error as? TransportError {
      switch error.code {
      case .unreachable, .unknownHost, .refused, .connectionLost, .timedOut: return true
      case .untrusted, .malformed, .badURL, .networkNotAllowed: return false
      }
    }
    switch (error as? URLError)?.code {
    case .notConnectedToInternet, .networkConnectionLost, .timedOut, .cannotFindHost,
      .cannotConnectToHost, .dnsLookupFailed, .dataNotAllowed, .internationalRoamingOff,
      .callIsActive:
      return true
    default: return false
    }
  }
}
