// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation
  import RefrainLocks

  @available(iOS 4, macOS 10.7, tvOS 9, visionOS 1, *)
  public let AVURLAssetPreferPreciseDurationAndTimingKey =
    "AVURLAssetPreferPreciseDurationAndTimingKey"

  /// As Apple's, it is not Sendable: some of its subclasses can be edited.
  @available(iOS 4, macOS 10.7, tvOS 9, visionOS 1, *)
  open class AVAsset: NSObject, AVAsynchronousKeyValueLoading {
    let associations = AssociatedObjects()
    private let knownDuration = Mutex(CMTime.indefinite)
    private let knownMetadata = Mutex<[StandInMetadata]>([])

    /// The result of `load(.duration)`.
    package var standInDuration: CMTime {
      get { knownDuration.withLock { $0 } }
      set { knownDuration.withLock { $0 = newValue } }
    }

    /// The result of `load(.commonMetadata)`.
    package var standInMetadata: [StandInMetadata] {
      get { knownMetadata.withLock { $0 } }
      set { knownMetadata.withLock { $0 = newValue } }
    }
  }

  /// As Apple's, it is Sendable. Unchecked, because it is open: locks guard all mutable state.
  @available(iOS 4, macOS 10.7, tvOS 9, visionOS 1, *)
  open class AVURLAsset: AVAsset, @unchecked Sendable {
    public let url: URL
    public let resourceLoader: AVAssetResourceLoader
    private let options: Mutex<[String: String]>

    public init(url: URL, options: [String: Any]? = nil) {
      self.url = url
      resourceLoader = AVAssetResourceLoader(url: url)
      self.options = Mutex((options ?? [:]).mapValues { "\($0)" })
    }

    /// The options passed to the initializer, as text.
    package var standInOptions: [String: String] { options.withLock { $0 } }
  }

  // MARK: Loading of properties

  @available(iOS 4, macOS 10.7, tvOS 9, visionOS 1, *)
  public protocol AVAsynchronousKeyValueLoading: AnyObject {}

  @available(iOS 15, macOS 12, tvOS 15, visionOS 1, *)
  open class AVPartialAsyncProperty<Root: AVAsynchronousKeyValueLoading> {}

  public final class AVAsyncProperty<Root: AVAsynchronousKeyValueLoading, Value>:
    AVPartialAsyncProperty<Root>
  {
    let read: @Sendable (Root) -> Value

    init(_ read: @Sendable @escaping (Root) -> Value) { self.read = read }
  }

  extension AVAsynchronousKeyValueLoading {
    @available(iOS 15, macOS 12, tvOS 15, visionOS 1, *)
    public func load<Value>(_ property: AVAsyncProperty<Self, Value>) async throws
      -> Value
    {
      property.read(self)
    }
  }

  extension AVPartialAsyncProperty where Root: AVAsset {
    public static var duration: AVAsyncProperty<Root, CMTime> {
      AVAsyncProperty { $0.standInDuration }
    }
  }
#endif
