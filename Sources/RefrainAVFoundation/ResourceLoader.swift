// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Refrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(AVFoundation)
  import AVFoundation
  import ObjectiveC
#else
  import AVFoundationStandIn
#endif

/// Serves AVFoundation's requests for one asset from the cache. AVFoundation calls it on its queue,
/// and its objects are called on that queue only, which keeps requests, data and cancellations in
/// order.
///
/// The asset retains it, and AVFoundation does not: it is released with the asset, and pending
/// requests are cancelled then.
final class ResourceLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
  private let session: AssetSession
  private let queue: DispatchQueue
  private let answers: QueueBound<[ObjectIdentifier: LoadingAnswer]>
  private let challenges: ChallengeResponder
  /// The asset's URL. Other URLs that its content refers to are not this resource.
  private let url: URL

  init(session: AssetSession, url: URL, challenges: AuthenticationChallengeHandler?) {
    self.session = session
    self.url = url
    // Autoreleased objects of AVFoundation are freed after each block, not some time later.
    queue = DispatchQueue(
      label: "refrain.resource-loader", qos: .userInitiated, autoreleaseFrequency: .workItem)
    answers = QueueBound([:], to: queue)
    self.challenges = ChallengeResponder(handler: challenges, queue: queue)
  }

  deinit {
    queue.async { [answers] in
      for answer in answers.withValue({ Array($0.values) }) { answer.finish(CancellationError()) }
    }
    challenges.endAll()
    session.end()
  }

  // MARK: The asset

  /// A unique address. Unsafe only by its type: nothing is read or written there.
  private nonisolated(unsafe) static let association = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  func attach(to asset: AVURLAsset) {
    asset.resourceLoader.setDelegate(self, queue: queue)
    objc_setAssociatedObject(asset, Self.association, self, .OBJC_ASSOCIATION_RETAIN)
  }

  static func session(of asset: AVURLAsset) -> AssetSession? {
    (objc_getAssociatedObject(asset, association) as? ResourceLoader)?.session
  }

  // MARK: Requests

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader,
    shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
  ) -> Bool {
    guard loadingRequest.request.url.map({ CachedURL.isSame($0, url) }) == true else {
      return false
    }
    let id = ObjectIdentifier(loadingRequest)
    let answer = LoadingAnswer(to: loadingRequest, on: queue) { [answers] in
      answers.withValue { $0[id] = nil }
    }
    answers.withValue { $0[id] = answer }
    // AVFoundation wants the description before any bytes: all requests that ask for it receive it.
    // One that cannot be described finishes, and is removed.
    answer.begin(session) { [answers] opened in
      for answer in answers.withValue({ Array($0.values) }) { answer.describe(opened) }
    }
    return true
  }

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest
  ) {
    answers.withValue { $0.removeValue(forKey: ObjectIdentifier(loadingRequest)) }?.forget()
  }

  // MARK: Challenges

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader,
    shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
  ) -> Bool {
    challenges.take(authenticationChallenge)
  }

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader,
    didCancel authenticationChallenge: URLAuthenticationChallenge
  ) {
    challenges.cancel(authenticationChallenge)
  }
}

/// Passes AVFoundation's challenges to the app, and the responses back, on AVFoundation's queue.
final class ChallengeResponder: Sendable {
  private struct Pending {
    let challenge: URLAuthenticationChallenge
    let task: Task<Void, Never>
  }

  private let handler: AuthenticationChallengeHandler?
  private let pending: QueueBound<[ObjectIdentifier: Pending]>

  init(handler: AuthenticationChallengeHandler?, queue: DispatchQueue) {
    self.handler = handler
    pending = QueueBound([:], to: queue)
  }

  /// Passes a challenge to the app; false if AVFoundation has to handle it. Called on the queue.
  func take(_ challenge: URLAuthenticationChallenge) -> Bool {
    guard let handler, challenge.sender != nil else { return false }
    let task = Task { [pending] in
      let (disposition, credential) = await handler(challenge)
      pending.queue.async {
        // The first one ends the challenge: the app's response, or AVFoundation's cancellation.
        let id = ObjectIdentifier(challenge)
        guard pending.withValue({ $0.removeValue(forKey: id) }) != nil else { return }
        Self.answer(challenge, disposition, credential)
      }
    }
    pending.withValue {
      $0[ObjectIdentifier(challenge)] = Pending(challenge: challenge, task: task)
    }
    return true
  }

  private static func answer(
    _ challenge: URLAuthenticationChallenge, _ disposition: URLSession.AuthChallengeDisposition,
    _ credential: URLCredential?
  ) {
    guard let sender = challenge.sender else { return }
    switch disposition {
    case .useCredential:
      guard let credential else { return sender.continueWithoutCredential(for: challenge) }
      sender.use(credential, for: challenge)
    case .cancelAuthenticationChallenge: sender.cancel(challenge)
    #if canImport(FoundationNetworking)
      case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
      default: sender.performDefaultHandling(for: challenge)
    #else
      // The Objective-C protocol declares both optional.
      case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue?(with: challenge)
      default: sender.performDefaultHandling?(for: challenge)
    #endif
    }
  }

  /// Drops a challenge that AVFoundation has cancelled, without a response. Called on the queue.
  func cancel(_ challenge: URLAuthenticationChallenge) {
    let cancelled = pending.withValue { $0.removeValue(forKey: ObjectIdentifier(challenge)) }
    cancelled?.task.cancel()
  }

  /// Cancels all challenges without a response. May be called on any thread.
  func endAll() {
    pending.queue.async { [pending] in
      let all = pending.withValue { pending in
        defer { pending = [:] }
        return pending.values
      }
      for pending in all {
        pending.task.cancel()
        pending.challenge.sender?.cancel(pending.challenge)
      }
    }
  }
}

/// The URL of an asset that AVFoundation loads through a delegate: the resource's own with another
/// scheme. The rest keeps its spelling, on which signatures depend.
enum CachedURL {
  /// Begins the scheme, which has letters, digits, `+`, `-` and `.` (RFC 3986 §3.1), in lower case.
  private static let prefix = "refrain-"

  /// Returns the asset's URL; nil if AVFoundation has to load the URL itself: neither http nor
  /// https, or a playlist by its extension.
  static func encoded(_ url: URL) -> URL? {
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
      !["m3u8", "m3u"].contains(url.pathExtension.lowercased())
    else { return nil }
    let text = url.absoluteString
    guard let colon = text.firstIndex(of: ":") else { return nil }
    return URL(string: prefix + scheme + text[colon...])
  }

  /// Whether both URLs name the same resource after normalization (RFC 3986 §6.2).
  static func isSame(_ one: URL, _ other: URL) -> Bool {
    one == other || CacheKey(url: decoded(one)) == CacheKey(url: decoded(other))
  }

  private static func decoded(_ url: URL) -> URL {
    let text = url.absoluteString
    guard text.lowercased().hasPrefix(prefix) else { return url }
    return URL(string: String(text.dropFirst(prefix.count))) ?? url
  }
}

/// A value that is accessed on one queue only. Unchecked: the compiler does not know which queue it
/// runs on, but every access checks it.
final class QueueBound<Value>: @unchecked Sendable {
  let queue: DispatchQueue
  private var value: Value

  init(_ value: Value, to queue: DispatchQueue) {
    self.value = value
    self.queue = queue
  }

  /// - Precondition: on the queue.
  func withValue<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    dispatchPrecondition(condition: .onQueue(queue))
    return try body(&value)
  }
}
