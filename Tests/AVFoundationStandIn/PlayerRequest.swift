// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  package import Foundation
  import RefrainLocks

  /// A request as the player sees it, which can be awaited and cancelled.
  package final class PlayerRequest: Sendable {
    private let exchange: Exchange
    private let held: Held
    private let issued = Mutex<Issued?>(nil)

    /// Unchecked, because it is not Sendable: only the delegate's queue creates and uses it.
    private struct Issued: @unchecked Sendable {
      let request: AVAssetResourceLoadingRequest
    }

    /// Unchecked, because it is not Sendable: a lock guards its state.
    private struct Held: @unchecked Sendable {
      let loader: AVAssetResourceLoader
    }
    private var loader: AVAssetResourceLoader { held.loader }

    fileprivate init(exchange: Exchange, loader: AVAssetResourceLoader) {
      self.exchange = exchange
      held = Held(loader: loader)
    }

    fileprivate func issue() {
      let scheme = exchange.url.scheme?.lowercased() ?? ""
      guard !["file", "http", "https", "data"].contains(scheme) else {
        exchange.end(.notMediated)
        return
      }
      // RFC 3986 §3.1
      if scheme.isEmpty
        || !scheme.utf8.allSatisfy({ byte in
          (97...122).contains(byte) || (48...57).contains(byte) || [43, 45, 46].contains(byte)
        })
      {
        exchange.log.violation("\(scheme) is no scheme")
      }
      guard let queue = loader.delegateQueue else {
        exchange.end(.refused)
        return
      }
      queue.async { [self] in
        guard exchange.outcome == nil, let delegate = loader.delegate else {
          exchange.end(.refused)
          return
        }
        let request = AVAssetResourceLoadingRequest(exchange: exchange)
        issued.withLock { [box = Issued(request: request)] in $0 = box }
        if delegate.resourceLoader(loader, shouldWaitForLoadingOfRequestedResource: request) {
          exchange.accepted()
        } else if !exchange.end(.refused) {
          exchange.log.violation("\(exchange.wish): refused and finished")
        }
      }
    }

    package var wish: Wish { exchange.wish }
    package var currentOffset: Int64 { exchange.currentOffset }
    package var information: StandInInformation { exchange.information }
    package var outcome: PlayerOutcome? { exchange.outcome }

    /// Waits for the end of the request.
    @discardableResult
    package func end() async -> PlayerOutcome {
      await exchange.wait(until: .max)
      return exchange.outcome ?? .cancelled
    }

    /// Waits until `count` bytes have come.
    ///
    /// - Returns: false if the request ended before.
    @discardableResult
    package func received(_ count: Int64) async -> Bool {
      await exchange.wait(until: exchange.wish.offset + count)
      return exchange.currentOffset >= exchange.wish.offset + count
    }

    /// Cancels as AVFoundation does: sets `isCancelled`, then notifies the delegate on its queue.
    ///
    /// - Returns: when the delegate was notified, or the request was over before.
    package func cancel() async {
      guard let queue = loader.delegateQueue else { return }
      await withCheckedContinuation { continuation in
        queue.async { [self] in
          if exchange.end(.cancelled), let request = issued.withLock({ $0 })?.request {
            loader.delegate?.resourceLoader(loader, didCancel: request)
          }
          continuation.resume()
        }
      }
    }
  }

  extension AVURLAsset {
    /// Requests something from the asset's delegate, as AVFoundation does when a player needs it.
    ///
    /// - Parameters:
    ///   - other: the URL to request instead of the asset's own.
    ///   - sink: receives each piece of data and its offset, on the delegate's thread.
    package func standInRequest(
      _ wish: Wish, other: URL? = nil, sink: @Sendable @escaping (Int64, Data) -> Void = { _, _ in }
    ) -> PlayerRequest {
      let exchange = Exchange(
        url: other ?? url, wish: wish, log: resourceLoader.standInLog, sink: sink)
      let request = PlayerRequest(exchange: exchange, loader: resourceLoader)
      request.issue()
      return request
    }
  }
#endif
