// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Synchronization

  public enum objc_AssociationPolicy: Sendable {
    case OBJC_ASSOCIATION_RETAIN
  }

  /// What is let go of together with an object.
  final class AssociatedObjects: Sendable {
    /// Unchecked, as Objective-C does not check what is associated either.
    private struct Value: @unchecked Sendable {
      let value: Any
    }

    private let values = Mutex<[UInt: Value]>([:])

    subscript(key: UnsafeRawPointer) -> Any? {
      get {
        let key = UInt(bitPattern: key)
        return values.withLock { $0[key] }?.value
      }
      set {
        let key = UInt(bitPattern: key)
        let value = newValue.map { Value(value: $0) }
        values.withLock { $0[key] = value }
      }
    }
  }

  /// Objective-C's, for assets.
  public func objc_setAssociatedObject(
    _ object: Any, _ key: UnsafeRawPointer, _ value: Any?, _ policy: objc_AssociationPolicy
  ) {
    (object as? AVAsset)?.associations[key] = value
  }

  public func objc_getAssociatedObject(_ object: Any, _ key: UnsafeRawPointer) -> Any? {
    (object as? AVAsset)?.associations[key]
  }
#endif
