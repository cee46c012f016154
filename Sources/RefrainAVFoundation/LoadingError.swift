// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Errors for AVFoundation: codes of NSURLErrorDomain, as its own loading uses, with the error's
/// sentences and the error itself as the underlying one.
enum LoadingError {
  static func unwanted(_ type: String, allowed: [String]) -> any Error {
    MediaCacheError(
      .invalidResponse,
      "The resource has type \(type); AVFoundation accepts \(allowed.joined(separator: ", ")).",
      remedy: "Check the origin's Content-Type and the URL's extension.")
  }

  static func redirectedOffline(_ url: URL) -> any Error {
    MediaCacheError(
      .offline,
      "\(url.withoutUserInfo.absoluteString) can only be loaded from its origin, and no request is "
        + "made while offline.",
      remedy: "Set MediaCache.Configuration.offline to false.")
  }

  static func foundationError(_ error: any Error) -> NSError {
    if error is CancellationError {
      return NSError(domain: NSURLErrorDomain, code: URLError.cancelled.rawValue)
    }
    guard let error = error as? MediaCacheError else { return error as NSError }
    var details: [String: Any] = [
      NSLocalizedDescriptionKey: error.reason, NSUnderlyingErrorKey: error,
    ]
    if !error.remedy.isEmpty { details[NSLocalizedRecoverySuggestionErrorKey] = error.remedy }
    return NSError(domain: NSURLErrorDomain, code: code(of: error).rawValue, userInfo: details)
  }

  private static func code(of error: MediaCacheError) -> URLError.Code {
    switch error.code {
    case .badURL: .badURL
    case .badRange: .requestBodyStreamExhausted
    case .unreachable: error.isTimeout ? .timedOut : .cannotConnectToHost
    case .offline: .notConnectedToInternet
    case .networkNotAllowed: .dataNotAllowed
    case .status: code(ofStatus: error.status)
    case .invalidResponse: .badServerResponse
    case .redirect: .httpTooManyRedirects
    case .resourceChanged: .resourceUnavailable
    case .storage, .inUse: .cannotWriteToFile
    case .closed: .cancelled
    }
  }

  /// Returns the code for a status, as URLSession's documentation and RFC 9110 §15.5 describe them.
  private static func code(ofStatus status: Int?) -> URLError.Code {
    switch status {
    case 401, 407: .userAuthenticationRequired
    case 403: .noPermissionsToReadFile
    case 404, 410: .fileDoesNotExist
    case 408, 504: .timedOut
    default: .badServerResponse
    }
  }
}
