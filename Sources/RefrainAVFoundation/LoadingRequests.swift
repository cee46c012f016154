// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// The pending requests of one asset.
final class LoadingRequests: Sendable {
  /// The queue on which AVFoundation calls, and is called.
  let queue: DispatchQueue
  private let answers: QueueBound<[ObjectIdentifier: LoadingAnswer]>

  init(queue: DispatchQueue) {
    self.queue = queue
    answers = QueueBound([:], to: queue)
  }

  /// - Precondition: on the queue.
  func add(_ request: AVAssetResourceLoadingRequest, session: AssetSession) {
    let id = ObjectIdentifier(request)
    let answer = LoadingAnswer(to: request, on: queue) { [weak self] in
      self?.answers.withValue { $0[id] = nil }
    }
    answers.withValue { $0[id] = answer }
    answer.begin(session) { [weak self] in self?.describe($0) }
  }

  /// Describes the resource to all requests that ask for that, because AVFoundation wants the
  /// description before any bytes.
  ///
  /// - Precondition: on the queue.
  private func describe(_ opened: AssetSession.Opened) {
    // A request that cannot be described finishes, and is removed.
    for answer in answers.withValue({ Array($0.values) }) { answer.describe(opened) }
  }

  /// - Precondition: on the queue.
  func cancel(_ request: AVAssetResourceLoadingRequest) {
    answers.withValue { $0.removeValue(forKey: ObjectIdentifier(request)) }?.forget()
  }

  /// Cancels all pending requests. May be called on any thread.
  func endAll() {
    queue.async { [answers] in
      for answer in answers.withValue({ Array($0.values) }) {
        answer.finish(LoadingError.calledOff)
      }
      answers.withValue { $0 = [:] }
    }
  }
}
