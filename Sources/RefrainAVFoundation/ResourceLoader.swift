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
  private let requests: LoadingRequests
  private let challenges: ChallengeResponder
  /// The asset's URL. Other URLs that its content refers to are not this resource.
  private let url: URL

  init(session: AssetSession, url: URL, challenges: AuthenticationChallengeHandler?) {
    self.session = session
    self.url = url
    requests = LoadingRequests(
      // Autoreleased objects of AVFoundation are freed after each block, not some time later.
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

  /// A unique address. Unsafe only by its type: nothing is read or written there.
  private nonisolated(unsafe) static let association = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  func attach(to asset: AVURLAsset) {
    asset.resourceLoader.setDelegate(self, queue: requests.queue)
    objc_setAssociatedObject(asset, Self.association, self, .OBJC_ASSOCIATION_RETAIN)
  }

  /// Returns the session of an asset; nil if the asset does not play through a cache.
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
