// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

extension MediaCacheError {
  /// Describes why AVPlayer gave up on an item.
  ///
  /// - Parameters:
  ///   - error: AVFoundation's error.
  ///   - failure: the last error that the cache gave to AVFoundation, in case that was not passed
  ///     on.
  init(avFoundation error: (any Error)?, cacheFailure failure: MediaCacheError?, playing url: URL) {
    if let own = error.flatMap(Self.under) ?? failure {
      self = own
      return
    }
    let address = url.shownInSentences
    guard let error = error as NSError? else {
      self.init(.invalidResponse, "\(address) could not be played.", remedy: Self.lookAtIt)
      return
    }
    let causes = Self.causes(of: error)
    if let cause = causes.first(where: { $0.domain == NSURLErrorDomain }) {
      self.init(
        .unreachable, "\(address) could not be loaded: \(Self.sentence(of: cause))",
        remedy: "Check the address and the network.")
      return
    }
    switch error.domain == AVFoundationErrorDomain ? AVError.Code(rawValue: error.code) : nil {
    case .fileFormatNotRecognized, .fileFailedToParse:
      self.init(
        .invalidResponse, "\(address) is not media that can be played.", remedy: Self.lookAtIt)
    case .decoderNotFound, .decodeFailed:
      self.init(
        .invalidResponse, "\(address) could not be decoded: \(Self.sentence(of: error))",
        remedy:
          "Check that this device supports its format; remove its stored bytes if others play.")
    case .contentIsProtected:
      self.init(
        .invalidResponse, "\(address) is protected.", remedy: "Play a version without protection.")
    // macOS has no such error.
    #if os(iOS) || os(tvOS) || os(visionOS) || !canImport(AVFoundation)
      case .mediaServicesWereReset:
        self.init(
          .invalidResponse, "The system's media services ended while \(address) played.",
          remedy: "Play it again.")
    #endif
    default:
      self.init(
        .invalidResponse, "\(address) could not be played: \(Self.sentence(of: error))",
        remedy: Self.lookAtIt)
    }
  }

  private static let lookAtIt =
    "Open it in a browser to see what it is: a page, a playlist, or an error."

  /// Returns the cache's own error, if it underlies one of AVFoundation's.
  private static func under(_ error: any Error) -> MediaCacheError? {
    if let own = error as? MediaCacheError { return own }
    for cause in causes(of: error as NSError) {
      if let own = cause.userInfo[NSUnderlyingErrorKey] as? MediaCacheError { return own }
    }
    return nil
  }

  /// Returns the error and its underlying errors, eight at most: the chain may be a ring.
  private static func causes(of error: NSError) -> [NSError] {
    var all = [error]
    while all.count < 8, let next = all.last?.userInfo[NSUnderlyingErrorKey] as? NSError {
      all.append(next)
    }
    return all
  }

  private static func sentence(of error: NSError) -> String {
    let text = error.localizedDescription
    return text.hasSuffix(".") ? text : text + "."
  }
}

extension URL {
  /// The URL without credentials; for a file, its path.
  fileprivate var shownInSentences: String {
    isFileURL ? path(percentEncoded: false) : withoutUserInfo.absoluteString
  }
}
