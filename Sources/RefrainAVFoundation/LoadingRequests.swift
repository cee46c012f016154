// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// The requests of one asset that are not answered yet.
final class LoadingRequests: Sendable {
  /// AVFoundation calls on it, and is called on it.
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

  /// AVFoundation wants to know what it is before it is given any of it: once that is known, all
  /// that ask for it are told.
  ///
  /// - Precondition: on the queue.
  private func describe(_ opened: AssetSession.Opened) {
    // Whoever cannot be told ends, and is removed.
    for answer in answers.withValue({ Array($0.values) }) { answer.describe(opened) }
  }

  /// - Precondition: on the queue.
  func cancel(_ request: AVAssetResourceLoadingRequest) {
    answers.withValue { $0.removeValue(forKey: ObjectIdentifier(request)) }?.forget()
  }

  /// Whoever still waits is told that nothing comes. From any thread.
  func endAll() {
    queue.async { [answers] in
      for answer in answers.withValue({ Array($0.values) }) {
        answer.finish(LoadingError.calledOff)
      }
      answers.withValue { $0 = [:] }
    }
  }
}
