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

/// Answers what AVFoundation asks for one asset, out of the cache. AVFoundation calls it on its queue;
/// everything that AVFoundation's objects are told, they are told there, so that what was added,
/// given and cancelled keeps its order.
///
/// The asset holds it, and AVFoundation does not: it goes with the asset, and whatever is still
/// unanswered then is called off.
final class ResourceLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
  private let session: AssetSession
  private let requests: LoadingRequests
  private let challenges: ChallengeResponder
  /// What the asset was made with. Anything else that it refers to is not this resource.
  private let url: URL

  init(session: AssetSession, url: URL, challenges: URLSessionTransport.ChallengeHandler?) {
    self.session = session
    self.url = url
    requests = LoadingRequests(
      // What AVFoundation's objects leave to the pool goes with each block, not some time later.
      queue: DispatchQueue(
        label: "refrain.resource-loader", qos: .userInitiated, autoreleaseFrequency: .workItem))
    self.challenges = ChallengeResponder(handler: challenges, queue: requests.queue)
  }

  deinit {
    requests.endAll()
    challenges.endAll()
    session.end()
  }

  // MARK: The asset

  /// An address that nobody else has. Unsafe only by its type: nothing is read or written there.
  private nonisolated(unsafe) static let association = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  func attach(to asset: AVURLAsset) {
    asset.resourceLoader.setDelegate(self, queue: requests.queue)
    objc_setAssociatedObject(asset, Self.association, self, .OBJC_ASSOCIATION_RETAIN)
  }

  /// The session of an asset that plays through a cache.
  static func session(of asset: AVURLAsset) -> AssetSession? {
    (objc_getAssociatedObject(asset, association) as? ResourceLoader)?.session
  }

  // MARK: Requests

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader,
    shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
  ) -> Bool {
    take(loadingRequest)
  }

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader,
    shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
  ) -> Bool {
    take(renewalRequest)
  }

  private func take(_ request: AVAssetResourceLoadingRequest) -> Bool {
    guard request.request.url.map({ CachedURL.isSame($0, url) }) == true else { return false }
    requests.add(request, session: session)
    return true
  }

  func resourceLoader(
    _ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest
  ) {
    requests.cancel(loadingRequest)
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
