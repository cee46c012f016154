// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation

  #if canImport(FoundationNetworking)
    public import FoundationNetworking
  #endif

  /// As Apple's, it is not Sendable and only the loader can create it. Its behaviour follows
  /// Apple's documentation; a delegate's mistake is recorded as a violation where AVFoundation
  /// would throw, stall or play something else.
  @available(iOS 6, macOS 10.9, tvOS 9, visionOS 1, *)
  open class AVAssetResourceLoadingRequest: NSObject {
    let exchange: Exchange
    public let contentInformationRequest: AVAssetResourceLoadingContentInformationRequest?
    public let dataRequest: AVAssetResourceLoadingDataRequest?

    init(exchange: Exchange) {
      self.exchange = exchange
      contentInformationRequest =
        exchange.wish.information
        ? AVAssetResourceLoadingContentInformationRequest(exchange: exchange) : nil
      dataRequest =
        exchange.wish.bytes == nil ? nil : AVAssetResourceLoadingDataRequest(exchange: exchange)
    }

    open var request: URLRequest { URLRequest(url: exchange.url) }
    open var isCancelled: Bool { exchange.isCancelled }

    open var response: URLResponse?
    open var redirect: URLRequest? {
      didSet { exchange.note(redirect: redirect?.url) }
    }

    open func finishLoading() { exchange.finish(nil) }

    open func finishLoading(with error: (any Error)?) { exchange.finish(error) }
  }

  open class AVAssetResourceLoadingContentInformationRequest: NSObject {
    private let exchange: Exchange

    init(exchange: Exchange) { self.exchange = exchange }

    /// A uniform type identifier.
    open var contentType: String? {
      get { exchange.information.contentType }
      set { exchange.fill { $0.contentType = newValue } }
    }

    @available(iOS 11.2, macOS 10.13.2, tvOS 11.2, visionOS 1, *)
    open var allowedContentTypes: [String]? { exchange.wish.allowedContentTypes }

    open var contentLength: Int64 {
      get { exchange.information.contentLength }
      set { exchange.fill { $0.contentLength = newValue } }
    }

    open var isByteRangeAccessSupported: Bool {
      get { exchange.information.isByteRangeAccessSupported }
      set { exchange.fill { $0.isByteRangeAccessSupported = newValue } }
    }

    @available(iOS 16, macOS 13, tvOS 16, visionOS 1, *)
    open var isEntireLengthAvailableOnDemand: Bool {
      get { exchange.information.isEntireLengthAvailableOnDemand }
      set { exchange.fill { $0.isEntireLengthAvailableOnDemand = newValue } }
    }
  }

  open class AVAssetResourceLoadingDataRequest: NSObject {
    private let exchange: Exchange

    init(exchange: Exchange) { self.exchange = exchange }

    open var requestedOffset: Int64 { exchange.wish.offset }
    open var requestedLength: Int { exchange.wish.bytes ?? 0 }
    @available(iOS 9, macOS 10.11, tvOS 9, visionOS 1, *)
    open var requestsAllDataToEndOfResource: Bool { exchange.wish.toEnd }
    open var currentOffset: Int64 { exchange.currentOffset }

    open func respond(with data: Data) { exchange.respond(data) }
  }
#endif
