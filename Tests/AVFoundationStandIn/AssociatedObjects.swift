// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import RefrainLocks

  public enum objc_AssociationPolicy: Sendable {
    case OBJC_ASSOCIATION_RETAIN
  }

  /// Values that are released together with an object.
  final class AssociatedObjects: Sendable {
    /// Unchecked, because Objective-C does not check associated values either.
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

  /// Objective-C's function, for assets.
  public func objc_setAssociatedObject(
    _ object: Any, _ key: UnsafeRawPointer, _ value: Any?, _ policy: objc_AssociationPolicy
  ) {
    (object as? AVAsset)?.associations[key] = value
  }

  public func objc_getAssociatedObject(_ object: Any, _ key: UnsafeRawPointer) -> Any? {
    (object as? AVAsset)?.associations[key]
  }
#endif
