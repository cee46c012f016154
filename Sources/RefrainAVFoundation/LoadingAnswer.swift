// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Refrain
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// Responds to one request: describes the resource if requested, delivers the bytes in order, and
/// finishes once. A task reads a bounded number of bytes at a time; AVFoundation receives them on
/// its queue before the next ones are read.
///
/// AVFoundation requests everything that follows, keeps it in memory, and cancels the request some
/// time after it has enough: from a disk, hundreds of megabytes would arrive by then. So a request
/// receives its first bytes at once, and rests after each step of the others: at most 80 MiB a
/// second, far above any bit rate. It never stops: AVFoundation does not report that it waits.
final class LoadingAnswer: Sendable {
  static let firstBytes = 16 << 20
  private static let step = 8 << 20

  /// Nil once it was finished, or cancelled by AVFoundation: it receives nothing after that.
  private let request: QueueBound<AVAssetResourceLoadingRequest?>
  private let task = Mutex<Task<Void, Never>?>(nil)
  private let onFinish: @Sendable () -> Void

  /// - Parameter onFinish: called on the queue when the request has finished.
  init(
    to request: AVAssetResourceLoadingRequest, on queue: DispatchQueue,
    onFinish: @Sendable @escaping () -> Void
  ) {
    self.request = QueueBound(request, to: queue)
    self.onFinish = onFinish
  }

  /// - Parameter describe: called on the queue once the resource is open, before any of its bytes
  ///   are delivered.
  func begin(
    _ session: AssetSession, describe: @Sendable @escaping (AssetSession.Opened) -> Void
  ) {
    let task = Task { await self.run(session, describe: describe) }
    self.task.withLock { $0 = task }
  }

  private func run(
    _ session: AssetSession, describe: @Sendable @escaping (AssetSession.Opened) -> Void
  ) async {
    do {
      let opened = try await session.open()
      let range = await onQueue { _ -> ByteRange? in
        describe(opened)
        return self.request.withValue { Self.wanted($0, length: opened.information.length) }
      }
      if let range, !range.isEmpty {
        let reader = try opened.reader.another()
        defer { reader.cancel() }
        var offset = range.lowerBound
        var left = Self.firstBytes
        // In short pieces: AVFoundation plays none of a piece before it has all of it.
        var chunks = reader.chunks(in: range)
        chunks.longest = 240 << 10
        for try await chunk in chunks {
          guard await give(chunk) else { return }
          session.count(offset..<offset + Int64(chunk.count), of: opened)
          offset += Int64(chunk.count)
          left -= chunk.count
          if left <= 0 {
            left = Self.step
            try await Task.sleep(for: .milliseconds(100))
          }
        }
      }
      session.note(nil)
      await onQueue { $0.finish(nil) }
    } catch {
      session.note(error)
      await onQueue { $0.finish(error) }
    }
  }

  private func onQueue<Result: Sendable>(
    _ work: @Sendable @escaping (LoadingAnswer) -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      request.queue.async { continuation.resume(returning: work(self)) }
    }
  }

  // MARK: On the queue

  /// Returns the range from AVFoundation's current offset to the end of its request or of the
  /// resource; nil if no bytes are wanted, or the request is over.
  private static func wanted(
    _ request: AVAssetResourceLoadingRequest?, length: Int64?
  ) -> ByteRange? {
    guard let wish = request?.dataRequest else { return nil }
    let start = max(wish.currentOffset, 0)
    var end = length ?? .max
    if !wish.requestsAllDataToEndOfResource {
      let (asked, overflow) = wish.requestedOffset.addingReportingOverflow(
        Int64(wish.requestedLength))
      end = min(end, overflow ? .max : asked)
    }
    return start..<max(start, end)
  }

  /// - Returns: false if nothing more is wanted.
  private func give(_ chunk: Data) async -> Bool {
    await onQueue { answer in
      answer.request.withValue { request in
        guard let request, !request.isCancelled else { return false }
        request.dataRequest?.respond(with: chunk)
        return true
      }
    }
  }

  /// Fills in the content information if it is requested and missing. Finishes the request if
  /// AVFoundation has to load the resource itself, or does not accept its type.
  func describe(_ opened: AssetSession.Opened) {
    var error: (any Error)?
    let isOver = request.withValue { request in
      guard let request, !request.isCancelled else { return false }
      if opened.isRedirected {
        Self.redirect(request, to: opened)
        return true
      }
      guard let wish = request.contentInformationRequest, !wish.isByteRangeAccessSupported else {
        return false
      }
      // Nil is always allowed: AVFoundation determines the type from the bytes.
      if let type = opened.contentType {
        guard let chosen = ContentType.choose(type, from: wish.allowedContentTypes) else {
          error = LoadingError.unwanted(type, allowed: wish.allowedContentTypes ?? [])
          return true
        }
        wish.contentType = chosen
      }
      let length = opened.information.length
      wish.contentLength = length ?? 0
      // The end is known: every byte can be requested, if necessary by reading up to it.
      wish.isByteRangeAccessSupported = true
      wish.isEntireLengthAvailableOnDemand =
        length.map { CacheProgress(length: $0, spans: opened.reader.cachedSpans).isComplete }
        ?? false
      return false
    }
    if isOver { finish(error) }
  }

  private static func redirect(
    _ request: AVAssetResourceLoadingRequest, to opened: AssetSession.Opened
  ) {
    var target = URLRequest(url: opened.location.url)
    for field in opened.location.headers.fields {
      target.addValue(field.value, forHTTPHeaderField: field.name)
    }
    request.redirect = target
    request.response = request.request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: 302, httpVersion: "HTTP/1.1", headerFields: nil)
    }
  }

  func finish(_ error: (any Error)?) {
    let isFirst = request.withValue { request in
      guard let pending = request else { return false }
      request = nil
      guard !pending.isCancelled else { return true }
      if let error {
        pending.finishLoading(with: LoadingError.foundationError(error))
      } else {
        pending.finishLoading()
      }
      return true
    }
    stop()
    if isFirst { onFinish() }
  }

  /// Drops the request, which AVFoundation has cancelled: it receives nothing more.
  func forget() {
    request.withValue { $0 = nil }
    stop()
  }

  private func stop() { task.withLock { $0 }?.cancel() }
}

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
