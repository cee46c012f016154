// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Dispatch
  public import Foundation
  import RefrainLocks

  #if canImport(FoundationNetworking)
    public import FoundationNetworking
  #endif

  /// AVAssetResourceLoader, as documented by Apple: it is not Sendable, and only an asset can create
  /// it.
  @available(iOS 6, macOS 10.9, tvOS 9, visionOS 1, *)
  open class AVAssetResourceLoader: NSObject {
    private struct State: @unchecked Sendable {
      weak var delegate: (any AVAssetResourceLoaderDelegate)?
      var queue: DispatchQueue?
    }
    private let state = Mutex(State())
    package let standInLog = AssetLog()
    let url: URL

    init(url: URL) { self.url = url }

    open func setDelegate(
      _ delegate: (any AVAssetResourceLoaderDelegate)?, queue delegateQueue: DispatchQueue?
    ) {
      state.withLock { state in
        state.delegate = delegate
        state.queue = delegateQueue
      }
    }

    weak open var delegate: (any AVAssetResourceLoaderDelegate)? { state.withLock { $0.delegate } }

    open var delegateQueue: DispatchQueue? { state.withLock { $0.queue } }
  }

  /// All methods are optional in Objective-C, where a misspelt method is never called. Here they
  /// are required, so that a misspelt method does not compile.
  @available(iOS 6, macOS 10.9, tvOS 9, visionOS 1, *)
  public protocol AVAssetResourceLoaderDelegate: NSObjectProtocol {
    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      didCancel loadingRequest: AVAssetResourceLoadingRequest
    )

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      didCancel authenticationChallenge: URLAuthenticationChallenge
    )
  }
#endif
